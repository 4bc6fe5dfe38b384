import type { LogFn, Logger, LoggerOptions } from "pino";
import { backgroundClock, type Clock } from "../../limits/clock.ts";

/** Limits how often a log states the same cause. */
export interface RepeatedLines {
  /** For `pino`; child loggers inherit it. */
  readonly hooks: NonNullable<LoggerOptions["hooks"]>;
  /** Logs the counts of the intervals that have not ended. */
  readonly flush: () => void;
}

/** Time between two lines of one cause. */
export const repeatMs = 60_000;
/** Causes that are distinguished within an interval, in all and for one message. Beyond, only the message counts. */
const causesMax = 1_024;
const causesOfMessageMax = 128;
/** Values of pino's levels. */
const levels = { info: 30, warn: 40 } as const;
/** Fields about one item or one try: they differ from line to line with one cause. */
const ids = ["answerId", "client", "consumer", "correlationId", "did", "eventId", "pid", "previewId", "processPid"];
const items = ["query", "replayId", "seq", "subject", "tenant", "traceId", "type"];
const tries = ["at", "attempt", "bytes", "failures", "generation", "retry", "tries"];
const itemFields: ReadonlySet<string> = new Set([...ids, ...items, ...tries]);
/** Names of measured times. */
const timeForm = /(?:Ms|At)$/u;
/** Texts that may hold ids and measures. */
const textFields: ReadonlySet<string> = new Set(["detail", "error", "message", "reason", "stack"]);
/** Fields of a line below a warning that states why something did not succeed. */
const causeFields = ["detail", "err", "error", "reason"];
/** Outcomes of attempts that did not deliver an event (`Settlement`). */
const failedOutcomes: ReadonlySet<unknown> = new Set(["retry", "rejected", "dead", "disabled"]);

/** A cause that was logged in this interval. */
interface Cause {
  readonly message: string;
  repeated: number;
  /** Logs the last line again, with the count. */
  repeat: (count: number) => void;
  readonly cancel: () => void;
}

/**
 * Creates the limit for the lines of a program that state a cause: warnings, errors, and lines at `info` about a failed
 * attempt. The first line of a cause is written at once, then one line per interval. Its field `repeated` counts the
 * lines that it replaces. All other lines pass: a caller finds the line of each request by its correlation id.
 */
export function limitRepeatedLines(clock: Pick<Clock, "after"> = backgroundClock): RepeatedLines {
  const causes = new Map<string, Cause>();
  const ofMessage = new Map<string, number>();
  const forget = (key: string, { message }: Cause): void => {
    causes.delete(key);
    const left = (ofMessage.get(message) ?? 1) - 1;
    if (left === 0) ofMessage.delete(message);
    else ofMessage.set(message, left);
  };
  const endOf = (key: string): void => {
    const cause = causes.get(key);
    if (cause === undefined) return;
    forget(key, cause);
    if (cause.repeated === 0) return;
    cause.repeat(cause.repeated);
    // The next interval begins with this line.
    begin(key, cause.message, cause.repeat);
  };
  const begin = (key: string, message: string, repeat: Cause["repeat"]): void => {
    causes.set(key, { message, repeated: 0, repeat, cancel: clock.after(repeatMs, () => endOf(key)) });
    ofMessage.set(message, (ofMessage.get(message) ?? 0) + 1);
  };
  const keyFor = (message: string, fields: unknown): string => {
    const exact = `${message}\n${causeOf(fields)}`;
    const isFull = causes.size >= causesMax || (ofMessage.get(message) ?? 0) >= causesOfMessageMax;
    return isFull && !causes.has(exact) ? message : exact;
  };
  return {
    hooks: {
      logMethod(args, method, level) {
        const [fields, text] = partsOf(args);
        if (!isLimited(level, Object(fields) as object)) return method.apply(this, args);
        const key = keyFor(text, fields);
        const repeat = repeatOf(this, method, fields, text);
        const known = causes.get(key);
        if (known !== undefined) {
          known.repeated += 1;
          known.repeat = repeat;
          return;
        }
        begin(key, text, repeat);
        return method.apply(this, args);
      },
    },
    flush: () => {
      for (const [key, cause] of causes) {
        cause.cancel();
        forget(key, cause);
        if (cause.repeated > 0) cause.repeat(cause.repeated);
      }
    },
  };
}

function partsOf(args: readonly unknown[]): readonly [fields: unknown, text: string] {
  const [first, second] = args;
  return typeof first === "string" ? [undefined, first] : [first, typeof second === "string" ? second : ""];
}

function isLimited(level: number, fields: object): boolean {
  // Each line of the audit log is about one caller and has a separate bound.
  if (level < levels.info || "audit" in fields) return false;
  return level >= levels.warn || statesCause(fields);
}

function statesCause(fields: object): boolean {
  if ("route" in fields && "status" in fields) return false;
  return (
    failedOutcomes.has((fields as { readonly outcome?: unknown }).outcome) || causeFields.some((name) => name in fields)
  );
}

function repeatOf(log: Logger, method: LogFn, fields: unknown, text: string): (count: number) => void {
  return (repeated) => method.call(log, { ...Object(fields), repeated }, text);
}

/** The fields without those about one item. */
function causeOf(fields: unknown): string {
  const entries = Object.entries(Object(fields) as object).filter(
    ([name]) => !itemFields.has(name) && !timeForm.test(name),
  );
  return JSON.stringify(entries.map(([name, value]) => [name, textFields.has(name) ? shapeOf(value) : valueOf(value)]));
}

/** An error by its name and its code or, without one, its message. */
function valueOf(value: unknown): unknown {
  if (!(value instanceof Error)) return value;
  const { reason, code } = value as { readonly reason?: unknown; readonly code?: unknown };
  return [value.name, shapeOf(reason ?? code ?? value.message)];
}

/** A text without words that contain a digit: those name one item, or count. */
function shapeOf(value: unknown): unknown {
  return typeof value === "string" ? value.replaceAll(/[\w:-]*\d[\w:-]*/gu, "#") : value;
}
