import type { Problem as ProblemBody } from "../../api/documents.ts";
import type { CheaperQuery } from "../../api/quotas.ts";

/** What the server says of a request that failed, as it writes it (RFC 9457); or what the browser knows. */
export interface Problem {
  readonly title: string;
  readonly detail: string;
  /** HTTP status; 0 without a response. */
  readonly status: number;
  /** Row of docs/reference/errors.md; empty without a response of the API. */
  readonly code: string;
  readonly correlationId: string | undefined;
  readonly errors: readonly Pick<ProblemBody["errors"][number], "field" | "detail">[];
  readonly suggestion: CheaperQuery | undefined;
  /** Scopes of which the request needs one; empty when no scope is missing. */
  readonly scopes: readonly string[];
  /** Time to wait before the same request, when the server says so. */
  readonly retryAfterSeconds: number | undefined;
}

/** A request that failed. */
export class ProblemError extends Error {
  override readonly name = "ProblemError";
  readonly problem: Problem;

  constructor(problem: Problem, options?: ErrorOptions) {
    super(`${problem.title}: ${problem.detail}`, options);
    this.problem = problem;
  }
}

/** Longest part of a foreign text that is shown. */
const shownLengthMax = 2_000;

/** The problem of a response that is not a success. Proxies respond in other formats: then only the status is known. */
export function problemOf(status: number, headers: Headers, body: unknown): Problem {
  const members = membersOf(body);
  return {
    title: textOf(members["title"]) ?? `The server responded with ${status}`,
    detail:
      textOf(members["detail"]) ?? "The response has no details. It may come from a proxy in front of the server.",
    status,
    code: textOf(members["code"]) ?? "",
    errors: fieldErrorsOf(members["errors"]),
    scopes: status === 403 ? scopesOf(headers.get("www-authenticate") ?? "") : [],
    correlationId: textOf(members["correlation_id"]) ?? textOf(headers.get("x-correlation-id")),
    suggestion: suggestionOf(members["suggestion"]),
    retryAfterSeconds: secondsOf(headers.get("retry-after")),
  };
}

/** The problem of anything that was thrown while a request was made. */
export function problemOfError(error: unknown): Problem {
  if (error instanceof ProblemError) return error.problem;
  const isTimeout = error instanceof DOMException && error.name === "TimeoutError";
  return {
    title: isTimeout ? "The server did not respond in time" : "The server cannot be reached",
    detail: isTimeout ? "Try again." : "Check the network and the server, then try again.",
    status: 0,
    code: "",
    correlationId: undefined,
    errors: [],
    suggestion: undefined,
    scopes: [],
    retryAfterSeconds: undefined,
  };
}

/** True for a request that nobody waits for any more. */
export function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === "AbortError";
}

function membersOf(body: unknown): Readonly<Record<string, unknown>> {
  return typeof body === "object" && body !== null ? (body as Readonly<Record<string, unknown>>) : {};
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value.slice(0, shownLengthMax) : undefined;
}

function secondsOf(header: string | null): number | undefined {
  const seconds = Number.parseInt(header ?? "", 10);
  return Number.isNaN(seconds) ? undefined : seconds;
}

function fieldErrorsOf(value: unknown): Problem["errors"] {
  if (!Array.isArray(value)) return [];
  return (value as readonly Readonly<Record<string, unknown>>[]).flatMap(({ field, detail }) => {
    return typeof field === "string" && typeof detail === "string" ? [{ field, detail }] : [];
  });
}

function suggestionOf(value: unknown): CheaperQuery | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { step, downsample, query } = value as Readonly<Record<string, unknown>>;
  const known = Object.entries({ step, downsample, query }).filter(([, one]) => typeof one === "string");
  return known.length === 0 ? undefined : (Object.fromEntries(known) as CheaperQuery);
}

/** The scopes of a challenge. Source: RFC 6750 §3. */
function scopesOf(challenge: string): readonly string[] {
  const [, scopes = ""] = /scope="([^"]*)"/u.exec(challenge) ?? [];
  return scopes.split(" ").filter((scope) => scope !== "");
}
