import { parseJsonObject } from "../../json/json-object.ts";
import type { Column, PointGrid } from "./matrix.ts";
import { scanMatrix } from "./matrix-scan.ts";
import { StoreError } from "../store-error.ts";
import { classifyWarnings, gravest, type WarningClass } from "./warnings.ts";

const errorTextLengthMax = 300;
/** What a proxy says while the store behind it starts or moves. */
const passingStatuses: readonly number[] = [502, 503];

/** What a query API answered with success. */
export interface ApiResponse {
  readonly data: unknown;
  /** Points that were taken out of `data`, which has their places instead; empty where it has the points itself. */
  readonly columns: readonly Column[];
  /** What the store says of its answer. */
  readonly warning: WarningClass;
}

/** Source: Prometheus HTTP API, "Format overview"; `isPartial` is VictoriaMetrics'. */
interface ApiBody {
  readonly status?: unknown;
  readonly data?: unknown;
  readonly errorType?: unknown;
  readonly error?: unknown;
  readonly warnings?: unknown;
  readonly infos?: unknown;
  readonly isPartial?: unknown;
}

/**
 * Reads an answer.
 *
 * @param grid of its points, where it is of a range query for numbers
 * @throws StoreError `refused`, `late`, `malformed`, `status`
 */
export function parseResponse(status: number, bytes: Buffer, grid?: PointGrid): ApiResponse {
  const scanned = grid === undefined ? undefined : scanMatrix(bytes, grid);
  const { skeleton, columns } = scanned ?? { skeleton: bytes.toString("utf8"), columns: [] };
  const body: ApiBody | undefined = parseJsonObject(skeleton);
  if (body?.status === "success") return { data: body.data, columns, warning: warningOf(body) };
  throw failureOf(status, skeleton, body);
}

function failureOf(status: number, text: string, body: ApiBody | undefined): StoreError {
  const isPassing = passingStatuses.includes(status);
  if (body?.status === "error") {
    const message = `HTTP ${status}: ${String(body.errorType)}: ${String(body.error).slice(0, errorTextLengthMax)}`;
    if (body.errorType === "timeout") return new StoreError("late", message);
    return status >= 500 ? new StoreError("status", message, { isPassing }) : new StoreError("refused", message);
  }
  if (status >= 200 && status < 300) return new StoreError("malformed", "the answer is not JSON of a query API");
  return new StoreError("status", `HTTP ${status}: ${text.slice(0, errorTextLengthMax)}`, { isPassing });
}

function warningOf({ warnings, infos, isPartial }: ApiBody): WarningClass {
  return gravest([classifyWarnings(warnings), classifyWarnings(infos), isPartial === true ? "incomplete" : "none"]);
}
