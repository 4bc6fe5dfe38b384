import { type AroundRead, aroundReads, type StoreRead } from "../../stores/read-middleware.ts";
import { StoreError } from "../../stores/store-error.ts";
import type { Stores } from "../../stores/store-set.ts";

/** A read with its outcome. */
export interface RecordedRead extends StoreRead {
  readonly durationMs: number;
  /** `ok`, the kind of the store's failure, or `left` for an aborted read. */
  readonly outcome: string;
  readonly series: number;
  /** Message of the store for a query that it refused. */
  readonly error?: string;
}

/** Wraps the stores: each read is added to `reads` when it ends. */
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
      const result = await send();
      note("ok", seriesIn(result));
      return result;
    } catch (error) {
      if (!(error instanceof StoreError)) note("left", 0);
      else note(error.kind, 0, error.kind === "refused" ? error.message : undefined);
      throw error;
    }
  };
  return aroundReads(stores, around);
}

/** The time of the newest sample is the one series of its read; undefined is none. */
function seriesIn(result: unknown): number {
  if (typeof result === "number") return 1;
  const series: unknown = Array.isArray(result)
    ? result
    : (result as { readonly series?: unknown } | undefined)?.series;
  return Array.isArray(series) ? series.length : 0;
}
