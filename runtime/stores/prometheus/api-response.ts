import { parseJsonObject } from "../../json/json-object.ts";
import { StoreError } from "../store-error.ts";
import { scanMatrix } from "./matrix-scan.ts";
import type { Column, PointGrid } from "./matrix.ts";

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

/**
 * The classes of the warnings in a store's response, from the mildest to the gravest:
 *
 * | Class | Means | Whole | Cacheable |
 * | --- | --- | --- | --- |
 * | `none` | no warning, or one that concerns no value | yes | yes |
 * | `dropped` | the query left out samples of another kind; a repeated query does too | no | yes |
 * | `incomplete` | the store did not read some data; a repeated query can | no | no |
 */
export const warningClasses = ["none", "dropped", "incomplete"] as const;
export type WarningClass = (typeof warningClasses)[number];

/** Annotations of PromQL about samples that are left out. Source: Prometheus, `util/annotations`. */
const dropping = [
  "encountered a mix of histograms and floats",
  "vector contains a mix of",
  "ignored histogram",
  "incompatible bucket layout",
  "incompatible sample types",
];

/** Warnings about an empty result with no missing data. Source: Thanos, `pkg/store/proxy.go`. */
const harmless = ["No StoreAPIs matched for this query"];

/** The gravest class of the `warnings` in a response. */
export function classifyWarnings(warnings: unknown): WarningClass {
  if (!Array.isArray(warnings)) return "none";
  const classes = warnings.map((warning) => classOf(String(warning)));
  return gravest(classes);
}

/** The gravest of several classes; `none` without any. */
export function gravest(classes: readonly WarningClass[]): WarningClass {
  return warningClasses.findLast((one) => classes.includes(one)) ?? "none";
}

function classOf(warning: string): WarningClass {
  if (harmless.some((text) => warning.includes(text))) return "none";
  if (!/^PromQL (?:info|warning): /u.test(warning)) return "incomplete";
  return dropping.some((text) => warning.includes(text)) ? "dropped" : "none";
}
