import { StoreError } from "./store-error.ts";
import { classifyWarnings, gravest, type WarningClass } from "./warnings.ts";

const errorTextLengthMax = 300;
/** What a proxy says while the store behind it starts or moves. */
const passingStatuses: readonly number[] = [502, 503];

/** What a query API answered with success. */
export interface ApiAnswer {
  readonly data: unknown;
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

/** Reads an answer. @throws StoreError `refused`, `late`, `malformed`, `status` */
export function parseAnswer(status: number, text: string): ApiAnswer {
  const body = parseJson(text);
  if (body?.status === "success") return { data: body.data, warning: warningOf(body) };
  const isPassing = passingStatuses.includes(status);
  if (body?.status === "error") {
    const message = `HTTP ${status}: ${String(body.errorType)}: ${String(body.error).slice(0, errorTextLengthMax)}`;
    if (body.errorType === "timeout") throw new StoreError("late", message);
    throw status >= 500 ? new StoreError("status", message, { isPassing }) : new StoreError("refused", message);
  }
  if (status >= 200 && status < 300) throw new StoreError("malformed", "the answer is not JSON of a query API");
  throw new StoreError("status", `HTTP ${status}: ${text.slice(0, errorTextLengthMax)}`, { isPassing });
}

function warningOf({ warnings, infos, isPartial }: ApiBody): WarningClass {
  return gravest([classifyWarnings(warnings), classifyWarnings(infos), isPartial === true ? "incomplete" : "none"]);
}

function parseJson(text: string): ApiBody | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}
