import { aroundReads, type AroundRead, type StoreRead } from "../../stores/read-middleware.ts";
import { StoreError } from "../../stores/store-error.ts";
import type { Stores } from "../../stores/store-set.ts";

/** A read that was sent, and what became of it. */
export interface RecordedRead extends StoreRead {
  readonly durationMs: number;
  /** `ok`, or why the store gave no answer. */
  readonly outcome: string;
  readonly series: number;
  /** What the store said of a query that it refused. */
  readonly error?: string;
}

/** The same stores, which add each read to `reads` when it ends. */
export function recordReads(stores: Stores, reads: RecordedRead[]): Stores {
  const around: AroundRead = async (read, send) => {
    const startMs = performance.now();
    const note = (outcome: string, series: number, error?: string): void => {
      reads.push({
        ...read,
        durationMs: performance.now() - startMs,
        outcome,
        series,
        ...(error === undefined ? {} : { error }),
      });
    };
    try {
      const answer = await send();
      note("ok", seriesIn(answer));
      return answer;
    } catch (error) {
      note(error instanceof StoreError ? error.kind : "left", 0, isRefused(error) ? error.message : undefined);
      throw error;
    }
  };
  return aroundReads(stores, around);
}

/** The store could not take the query itself. */
function isRefused(error: unknown): error is StoreError {
  return error instanceof StoreError && error.kind === "refused";
}

function seriesIn(answer: unknown): number {
  const series: unknown = (answer as { readonly series?: unknown } | undefined)?.series;
  return Array.isArray(series) ? series.length : 0;
}
