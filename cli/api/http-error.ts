import type { Problem as ProblemBody } from "../../api/documents.ts";
import { plain } from "../command-line/terminal.ts";
import { CommandError } from "../command-line/command.ts";
import type { Flag } from "../command-line/flags.ts";

/** A response that has arrived in full. */
export interface ApiResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: Buffer;
}

/** What is known of the body of an error, which another program may have sent. */
interface Problem extends Partial<Pick<ProblemBody, "title" | "detail" | "code">> {
  readonly errors: readonly Pick<ProblemBody["errors"][number], "field" | "code" | "detail">[];
  readonly suggestion: Readonly<Record<string, string>>;
}

/** The server rejected a request. */
export class HttpError extends CommandError {
  readonly status: number;
  /** Code of the table of errors; empty for the response of another program. */
  readonly code: string;
  /** From `Retry-After`. */
  readonly retryAfterSeconds: number | undefined;
  /** Fields that the request lacks. */
  readonly missing: readonly string[];

  constructor(message: string, facts: Pick<HttpError, "status" | "code" | "retryAfterSeconds" | "missing">) {
    super("refused", message);
    this.status = facts.status;
    this.code = facts.code;
    this.retryAfterSeconds = facts.retryAfterSeconds;
    this.missing = facts.missing;
  }
}

const newTokenHint =
  "get a new token; `heliograph dev-token` issues tokens for the server that uses the folder of --data";
const detailCharactersMax = 400;

/** The error of a rejected request: what the server reported, the invalid fields, and how to fix them. */
export function httpErrorOf({ status, headers, body }: ApiResponse, hasToken: boolean): HttpError {
  const problem = parseProblem(body);
  const { code = "", suggestion } = problem;
  const retryAfter = Number(headers["retry-after"] ?? Number.NaN);
  const retryAfterSeconds = Number.isFinite(retryAfter) ? retryAfter : undefined;
  const hints = [
    ...Object.entries(suggestion).map(([name, value]) => `try --${name} ${value}`),
    ...(retryAfterSeconds === undefined ? [] : [`try again in ${retryAfterSeconds} s`]),
    ...(status === 401 ? [hasToken ? newTokenHint : "set --token-file or HELIOGRAPH_TOKEN"] : []),
  ];
  const name = [status, code].join(" ").trimEnd();
  const text = [reasonsOf(problem), ...hints].join("; ");
  const missing = status === 400 ? missingFields(problem) : [];
  const message = `the server rejected the request with ${name}: ${plain(text)}`;
  return new HttpError(message, { status, code, retryAfterSeconds, missing });
}

const requiredCode = /^(?:(?<field>\w+)_)?required$/u;

/** Fields without a value that the server requires. An error without fields names one in its code. */
function missingFields({ code = "", errors }: Problem): readonly string[] {
  const fields = errors.flatMap((error) =>
    requiredCode.test(error.code) || / is required\b/u.test(error.detail) ? [error.field] : [],
  );
  const named = requiredCode.exec(code)?.groups?.["field"];
  return errors.length === 0 && named !== undefined ? [named] : [...new Set(fields)];
}

/** Flags of other names than their fields. */
const flagsOfFields: Readonly<Record<string, readonly string[]>> = {
  from: ["since"],
  to: ["until"],
  event_id: ["id"],
  data: ["body"],
  version: ["event-version"],
};

/** The same error, which also names the flags that set what the request lacks. Other errors stay as they are. */
export function withFlagHints(error: unknown, flags: readonly Flag[]): unknown {
  if (!(error instanceof HttpError)) return error;
  const hints = error.missing.flatMap((field) => flagHint(field, flags) ?? []);
  return hints.length === 0 ? error : new HttpError(`${error.message}; ${hints.join("; ")}`, error);
}

function flagHint(field: string, flags: readonly Flag[]): string | undefined {
  const [, label] = /^filter\[(\w+)\]$/u.exec(field) ?? [];
  const names = [(label ?? field).replaceAll("_", "-"), ...(flagsOfFields[field] ?? [])];
  const flag = flags.find(({ name }) => names.includes(name));
  if (flag !== undefined) return `set --${flag.name}`;
  return label !== undefined && flags.some(({ name }) => name === "filter") ? `set --filter ${label}=VALUE` : undefined;
}

function reasonsOf({ detail, title, errors }: Problem): string {
  const said = detail ?? title ?? "no reason was given";
  const fields = errors.map((error) => error.detail).filter((text) => text !== said);
  const text = [said, ...fields].map((sentence) => sentence.replace(/\.$/u, "")).join("; ");
  return text.length <= detailCharactersMax ? text : `${text.slice(0, detailCharactersMax)}…`;
}

/** The sentence of a request without a response. @param reason a text, or the error of the connection */
export function unreachable(url: string, reason: unknown, cause: unknown = reason): CommandError {
  const text = reason instanceof Error ? reasonOf(reason) : String(reason);
  return new CommandError("unreachable", `${url} cannot be reached: ${text}; check --url`, cause);
}

function reasonOf(error: Error): string {
  // A name with several addresses fails with an error of each.
  const first = error instanceof AggregateError ? (error.errors[0] as unknown) : error;
  const { message, code } = first as NodeJS.ErrnoException;
  return message === "" ? (code ?? "no reason") : message;
}

/** Only what has the form of a problem: another program may send anything. */
function parseProblem(body: Buffer): Problem {
  const { title, detail, code, errors, suggestion } = objectOf(jsonOf(body));
  return {
    ...textsOf({ title, detail, code }),
    errors: (Array.isArray(errors) ? errors : []).flatMap((error) => {
      const { field, code: kind, detail: fault } = textsOf(objectOf(error));
      return fault === undefined ? [] : [{ field: field ?? "", code: kind ?? "", detail: fault }];
    }),
    suggestion: textsOf(objectOf(suggestion)),
  };
}

function jsonOf(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString());
  } catch {
    return undefined;
  }
}

function objectOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
}

function textsOf(members: Readonly<Record<string, unknown>>): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(members).filter((entry): entry is [string, string] => typeof entry[1] === "string"),
  );
}
