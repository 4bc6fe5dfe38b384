import { createHash, timingSafeEqual } from "node:crypto";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { configzWaitSecondsMax, type ConfigzReport } from "../../../crds/configz.ts";
import { Refusal, refuseField } from "../../errors/refusal.ts";
import { queryParameters } from "./query-string.ts";

/** What `/configz` answers: what the operator reads, and some figures for people. */
export interface ConfigReport extends ConfigzReport {
  /** Of what is obeyed without generations: equal again when an edit was taken back; null before anything is obeyed. */
  readonly content_hash: string | null;
  /** ISO 8601 UTC time since which the configuration is obeyed; null before. */
  readonly applied_at: string | null;
  readonly partners: number;
  readonly catalogs: number;
  readonly quotas: number;
  /** Resources and files that are not obeyed as written. */
  readonly problems: number;
}

/** Where the report comes from. */
export interface ConfigView {
  report(): ConfigReport;
  /** The first report of another version; the present one when the wait is over or the signal is aborted. */
  next(after: string, waitMs: number, signal: AbortSignal): Promise<ConfigReport>;
  /** What readers prove themselves with; undefined: only this machine may read. */
  token(): string | undefined;
}

/** Polls that wait at once: every reader of every operator, and some to spare. */
export const pollsMax = 16;
/** An answer is due at the end of the wait; this much later something is wrong. */
const answerSlackMs = 10_000;
const versionLengthMax = 128;
const loopback = /^(?:127\.|::1$|::ffff:127\.)/u;

/**
 * Adds `GET /configz`: which configuration is obeyed, as a long poll with `?wait=SECONDS&after=VERSION`. Its readers
 * bring the token that travels in the configuration; without one in it, they have to be on this machine.
 */
export function addConfigz(app: FastifyInstance, view: ConfigView): void {
  let polls = 0;
  app.route({
    method: "GET",
    url: "/configz",
    handlerTimeout: configzWaitSecondsMax * 1000 + answerSlackMs,
    onRequest: async (request) => requireReader(request, view),
    handler: async (request) => {
      const { waitMs, after } = pollOf(request.url);
      if (waitMs === 0 || after === undefined) return view.report();
      if (polls >= pollsMax)
        throw new Refusal("too_many_requests", `${pollsMax} polls wait already.`, { retryAfterSeconds: 1 });
      polls += 1;
      try {
        return await view.next(after, waitMs, request.signal);
      } finally {
        polls -= 1;
      }
    },
  });
}

function requireReader({ headers, socket }: FastifyRequest, view: ConfigView): void {
  const token = view.token();
  if (token === undefined) {
    if (loopback.test(socket.remoteAddress ?? "")) return;
    if (view.report().hash === null)
      throw new Refusal("not_ready", "No configuration is obeyed yet.", { retryAfterSeconds: 1 });
    throw new Refusal("token_missing", "The configuration holds no token, so that only this machine may read this.");
  }
  const [, given] = /^Bearer +([^ ]+) *$/iu.exec(headers.authorization ?? "") ?? [];
  if (given === undefined)
    throw new Refusal("token_missing", "Send the configuration's token as `Authorization: Bearer <token>`.");
  if (!isEqual(given, token)) throw new Refusal("token_invalid", "This is not the configuration's token.");
}

/** In a time that tells nothing of either, their lengths included. */
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
    throw refuseField(
      "invalid_request",
      "wait",
      `wait is a whole number of seconds from 0 to ${configzWaitSecondsMax}.`,
    );
  }
  if (after !== undefined && after.length > versionLengthMax)
    throw refuseField("invalid_request", "after", "after is no version.");
  return { waitMs: seconds * 1000, after };
}
