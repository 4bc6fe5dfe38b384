import { parseJsonObject } from "../../json/json-object.ts";
import type { Column, PointGrid } from "./matrix.ts";
import { scanMatrix } from "./matrix-scan.ts";
import { StoreError } from "../store-error.ts";
import { classifyWarnings, gravest, type WarningClass } from "./warnings.ts";

const errorTextLengthMax = 300;
/** Statuses of a proxy while the store behind it starts or moves. */
const passingStatuses: readonly number[] = [502, 503];

/** A successful response of a query API. */
export interface ApiResponse {
  readonly data: unknown;
  /** The points as columns; `data` then holds their indexes. It is empty where `data` holds the points. */
  readonly columns: readonly Column[];
  /** The class of the warnings in the response. */
  readonly warning: WarningClass;
}

/** Source: Prometheus HTTP API, "Format overview"; `isPartial` is of VictoriaMetrics. */
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
 * Parses a response.
 *
 * @param grid the points of a range query for numbers
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
  if (status >= 200 && status < 300) return new StoreError("malformed", "the response is not JSON of a query API");
  return new StoreError("status", `HTTP ${status}: ${text.slice(0, errorTextLengthMax)}`, { isPassing });
}

function warningOf({ warnings, infos, isPartial }: ApiBody): WarningClass {
  return gravest([classifyWarnings(warnings), classifyWarnings(infos), isPartial === true ? "incomplete" : "none"]);
}
