import { createHash, timingSafeEqual } from "node:crypto";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { configzWaitSecondsMax, type ConfigzReport } from "../../../crds/configz.ts";
import { ApiError, invalidField } from "../../errors/api-error.ts";
import { queryParameters } from "./query-string.ts";

/** Response of `/configz`: the operator's report with additional figures. */
export interface ConfigReport extends ConfigzReport {
  /**
   * Hash of the applied configuration without generations: an edit that is undone restores it. Null before the first.
   */
  readonly content_hash: string | null;
  /** ISO 8601 UTC time at which the configuration was applied; null before the first. */
  readonly applied_at: string | null;
  readonly partners: number;
  readonly catalogs: number;
  readonly quotas: number;
  /** Catalogs of event types, without deleted ones whose fields stay excluded. */
  readonly event_catalogs: number;
  /** Resources and files that are not applied as written. */
  readonly problems: number;
  /** Of a folder: what works but is probably not meant, such as fields that stay excluded after their catalog. */
  readonly warnings: readonly string[];
}

/** Source of the report. */
export interface ConfigView {
  report(): ConfigReport;
  /** The first report of another version; the present one when the wait is over or the signal is aborted. */
  next(after: string, waitMs: number, signal: AbortSignal): Promise<ConfigReport>;
  /** The token of the readers; undefined: only readers on this machine. */
  token(): string | undefined;
}

/** Concurrent polls: every reader of every operator, and some reserve. */
export const pollsMax = 16;
/** Time after the end of the wait at which a missing response is an error. */
const responseSlackMs = 10_000;
const versionLengthMax = 128;
const loopback = /^(?:127\.|::1$|::ffff:127\.)/u;

/**
 * Adds `GET /configz`: the applied configuration, as a long poll with `?wait=SECONDS&after=VERSION`. Readers send the
 * token of the configuration. Without a token in it, readers must be on this machine.
 */
export function addConfigz(app: FastifyInstance, view: ConfigView): void {
  let polls = 0;
  app.route({
    method: "GET",
    url: "/configz",
    handlerTimeout: configzWaitSecondsMax * 1000 + responseSlackMs,
    onRequest: async (request) => requireReader(request, view),
    handler: async (request) => {
      const { waitMs, after } = pollOf(request.url);
      if (waitMs === 0 || after === undefined) return view.report();
      if (polls >= pollsMax) {
        throw new ApiError("too_many_requests", `${pollsMax} polls are already waiting. Try again later.`, {
          retryAfterSeconds: 1,
        });
      }
      polls += 1;
      try {
        return await view.next(after, waitMs, request.signal);
      } finally {
        polls -= 1;
      }
    },
  });
}

/** True for a connection from this machine, a forwarded port among them. */
export function isOnThisMachine({ remoteAddress = "" }: { readonly remoteAddress?: string | undefined }): boolean {
  return loopback.test(remoteAddress);
}

function requireReader({ headers, socket }: FastifyRequest, view: ConfigView): void {
  const token = view.token();
  if (token === undefined) {
    if (isOnThisMachine(socket)) return;
    if (view.report().hash === null)
      throw new ApiError("not_ready", "No configuration has been applied yet.", { retryAfterSeconds: 1 });
    throw new ApiError("token_missing", "The configuration contains no token, so only this machine can read /configz.");
  }
  const [, given] = /^Bearer +([^ ]+) *$/iu.exec(headers.authorization ?? "") ?? [];
  if (given === undefined)
    throw new ApiError("token_missing", "Send the token from the configuration as `Authorization: Bearer <token>`.");
  if (!isEqual(given, token)) throw new ApiError("token_invalid", "The token does not match the configuration.");
}

/** Compares in constant time, whatever the lengths. */
function isEqual(one: string, other: string): boolean {
  const digest = (text: string): Buffer => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(one), digest(other));
}

function pollOf(target: string): { readonly waitMs: number; readonly after: string | undefined } {
  const parameters = queryParameters(target);
  const [wait = "0"] = parameters.get("wait") ?? [];
  const [after] = parameters.get("after") ?? [];
  const seconds = /^\d{1,3}$/u.test(wait) ? Number(wait) : Number.NaN;
  if (!(seconds <= configzWaitSecondsMax)) {
    throw invalidField(
      "invalid_request",
      "wait",
      `wait must be an integer number of seconds from 0 to ${configzWaitSecondsMax}.`,
    );
  }
  if (after !== undefined && after.length > versionLengthMax)
    throw invalidField("invalid_request", "after", `after must have at most ${versionLengthMax} characters.`);
  return { waitMs: seconds * 1000, after };
}
