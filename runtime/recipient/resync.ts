import { randomUUID } from "node:crypto";
import { Agent as HttpAgent, request as httpRequest, type IncomingMessage, type RequestOptions } from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import { setTimeout as sleep } from "node:timers/promises";
import { withOverlappingAttempts } from "../../network/http-agent.ts";
import { joinBody } from "./endpoints.ts";

/** Which events a sender delivers again. Source: seed "Webhook Event Delivery" §4.2 and §4.3. */
export interface ReplaySelection {
  /** These events; otherwise those of a window. */
  readonly event_ids?: readonly string[];
  /** Start of the window, ISO 8601 UTC, inclusive. */
  readonly from?: string;
  /** End of the window, exclusive. @default now */
  readonly to?: string;
  /** The window begins after this event. */
  readonly after_id?: string;
  /** The window ends before this event. */
  readonly before_id?: string;
  /** `namespace/name`. @default all partners that the token may see */
  readonly partners?: readonly string[];
  readonly types?: readonly string[];
  /** Only failed deliveries. */
  readonly only_failed?: boolean;
  /** Also events whose id the recipient may have forgotten, so that their effect may happen again. */
  readonly force?: boolean;
  readonly rate_per_second?: number;
}

/** State of a replay, as the sender's API gives it. */
export interface ReplayState {
  readonly replay_id: string;
  readonly status: "queued" | "running" | "completed" | "cancelled" | "failed";
  readonly matched: number;
  readonly in_progress: number;
  readonly too_old: number;
  readonly missing: number;
  readonly published: number;
  readonly delivered: number;
  readonly failed: number;
  readonly detail: string | null;
}

export interface ResyncOptions {
  /** Address of the sender's API, for example `https://heliograph.example.com`. */
  readonly url: string;
  /** A token with the scope `webhooks:replay`; called for each request. */
  readonly token: () => string | Promise<string>;
  /** Called with each state that was read. @default none */
  readonly progress?: (state: ReplayState) => void;
  /** Ends the wait; the replay continues. @default none */
  readonly signal?: AbortSignal;
  /** @default 3600000 */
  readonly timeoutMs?: number;
  /** Between two reads of the state, and before a request without a response is repeated. @default 1000 */
  readonly pollMs?: number;
}

/** A request that the sender rejected, or did not respond. */
export class ResyncError extends Error {
  override readonly name = "ResyncError";
  /** HTTP status; undefined without a response. */
  readonly status: number | undefined;
  /** The code of the sender's error body. */
  readonly code: string | undefined;

  constructor(message: string, status?: number, code?: string, cause?: unknown) {
    super(message, { cause });
    this.status = status;
    this.code = code;
  }
}

/** Everything since a time, for a recipient that lost its state and its marks. Effects happen again. */
export function snapshotSince(from: string): ReplaySelection {
  return { from, force: true };
}

/**
 * What a recipient may have missed since a time. The window begins earlier, because order is not guaranteed. Events
 * that had their effect get 200 without another one.
 */
export function deltaSince(ts: string, overlapSeconds = 3_600): ReplaySelection {
  return { from: new Date(Date.parse(ts) - overlapSeconds * 1_000).toISOString() };
}

/** What a recipient may have missed since an event that it knows. */
export function deltaAfter(eventId: string): ReplaySelection {
  return { after_id: eventId };
}

const pollMsDefault = 1_000;
const requestMsMax = 30_000;
const triesMax = 5;
const retryMsMax = 60_000;

/**
 * Starts a replay and follows it until each of its deliveries has ended. Returns the last state; it is still `running`,
 * or has open deliveries, when the time is over.
 * @throws ResyncError when the sender rejects, or cannot be reached five times
 * @throws the reason of `signal`
 */
export async function resync(selection: ReplaySelection, options: ResyncOptions): Promise<ReplayState> {
  const { progress, timeoutMs = 3_600_000, pollMs = pollMsDefault, signal } = options;
  const endMs = performance.now() + timeoutMs;
  // The key makes a repeat of the first request safe.
  const init = { method: "POST", body: JSON.stringify(selection), headers: { "Idempotency-Key": randomUUID() } };
  let state = await request("/webhooks/replay", init, options);
  progress?.(state);
  while (!hasEnded(state) && performance.now() < endMs) {
    await pause(pollMs, signal);
    state = await request(`/webhooks/replay/${encodeURIComponent(state.replay_id)}`, {}, options);
    progress?.(state);
  }
  return state;
}

function hasEnded({ status, published, delivered, failed }: ReplayState): boolean {
  return status === "failed" || (status !== "queued" && status !== "running" && delivered + failed >= published);
}

interface Init {
  readonly method?: string;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Sends a request until it has a response that a repeat would not change. */
async function request(path: string, init: Init, options: ResyncOptions): Promise<ReplayState> {
  for (let tries = 1; ; tries += 1) {
    const headers = { ...init.headers, authorization: `Bearer ${await options.token()}` };
    const result = await send(path, { ...init, headers }, options).catch((error: unknown) =>
      unreachable(error, options),
    );
    if (!("error" in result)) return result.state;
    if (tries === triesMax || result.retryMs === undefined) throw result.error;
    await pause(result.retryMs, options.signal);
  }
}

/** @throws the reason of the signal */
async function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => undefined);
  signal?.throwIfAborted();
}

type SendResult =
  | { readonly state: ReplayState }
  /** A repeat cannot help without `retryMs`. */
  | { readonly error: ResyncError; readonly retryMs?: number };

async function send(path: string, init: Init, { url, signal }: ResyncOptions): Promise<SendResult> {
  const limit = AbortSignal.timeout(requestMsMax);
  const response = await respond(new URL(path.slice(1), `${url.replace(/\/$/u, "")}/`), {
    method: init.method ?? "GET",
    body: init.body ?? "",
    headers: { ...init.headers, "content-type": "application/json" },
    signal: signal === undefined ? limit : AbortSignal.any([signal, limit]),
  });
  const text = Buffer.from(await joinBody(response)).toString();
  const { statusCode = 0 } = response;
  if (statusCode >= 200 && statusCode <= 299) return { state: JSON.parse(text || "{}") as ReplayState };
  return { error: resyncError(statusCode, text), ...retryOf(response) };
}

/** One request on a new connection, without redirects. */
function respond(url: URL, { body, ...options }: RequestOptions & { readonly body: string }): Promise<IncomingMessage> {
  const isSecure = url.protocol === "https:";
  const agent = withOverlappingAttempts(isSecure ? new HttpsAgent() : new HttpAgent());
  return new Promise((resolve, reject) => {
    const open = isSecure ? httpsRequest : httpRequest;
    open(url, { ...options, agent }, resolve)
      .on("error", reject)
      .end(body);
  });
}

interface ErrorBody {
  readonly code?: string;
  readonly detail?: string;
}

/** A proxy in front of the sender may reject with a page. */
function errorBodyOf(text: string): ErrorBody {
  try {
    return (JSON.parse(text) ?? {}) as ErrorBody;
  } catch {
    return {};
  }
}

function resyncError(status: number, text: string): ResyncError {
  const { code, detail } = errorBodyOf(text);
  const reason = detail ?? "The response contains no reason.";
  return new ResyncError(`The sender responded with ${status} (${code ?? "no code"}): ${reason}`, status, code);
}

/** 409 means that the first request with this key is running. */
function retryOf({ statusCode: status = 0, headers }: IncomingMessage): { readonly retryMs?: number } {
  if (status < 500 && status !== 429 && status !== 409) return {};
  const seconds = Number(headers["retry-after"] ?? 1);
  return { retryMs: Math.min(Number.isFinite(seconds) ? Math.max(seconds, 0) * 1_000 : 1_000, retryMsMax) };
}

function unreachable(error: unknown, { url, signal, pollMs = pollMsDefault }: ResyncOptions): SendResult {
  signal?.throwIfAborted();
  const message = `${url} did not respond; check the address and the network`;
  return { error: new ResyncError(message, undefined, undefined, error), retryMs: pollMs };
}
