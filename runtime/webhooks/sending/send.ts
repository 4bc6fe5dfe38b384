import { AsyncLocalStorage } from "node:async_hooks";
import { hash } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import { Agent } from "undici";
import type { NetworksConfig } from "../../../crds/config.ts";
import { guardedConnector, type ConnectionTrace, type TlsIdentity } from "./guarded-connect.ts";
import { Exchange } from "./exchange.ts";
import { createGuard, urlFault, type Guard } from "./address-guard.ts";
import { maskOutcome } from "./mask.ts";
import type { Outcome } from "../settlement/outcome.ts";
import { createResolver, type Resolver } from "./dns.ts";

/** One request to a partner. */
export interface SendRequest {
  /** @default "POST" */
  readonly method?: "POST" | "OPTIONS";
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  /** Bound on the whole attempt, from look-up to last byte. */
  readonly timeoutMs: number;
  /** Where the partner may be reached besides the public Internet. */
  readonly networks: NetworksConfig;
  /** What TLS trusts and shows. @default the system's roots and no client certificate */
  readonly tls?: TlsIdentity;
  /** Gives the attempt up, with outcome `aborted`. */
  readonly signal?: AbortSignal;
}

/** Sends attempts over connections that it keeps alive. */
export interface Sender {
  /** What came of the attempt; never throws and never rejects. Redirects are an answer like any other. */
  send(request: SendRequest): Promise<Outcome>;
  /** Ends every connection; attempts under way fail. */
  close(): Promise<void>;
}

export interface SenderOptions {
  /** @default the name servers of the system, then its own look-up */
  readonly resolve?: Resolver;
  /** Bound on look-up, TCP and TLS together. @default 5000 */
  readonly connectTimeoutMs?: number;
  /** Connections to one origin under one identity and one set of networks. @default 256 */
  readonly connectionsMax?: number;
}

/** Everything that makes two connections to one host interchangeable. */
interface Lane {
  readonly agent: Agent;
  /** Why this URL must not be called, or undefined. */
  readonly faultOf: (url: URL) => string | undefined;
}

const lanesMax = 1_024;
const responseHeadBytesMax = 16_384;
/** Shorter than the idle time of common servers, so that few requests meet a connection that is just being closed. */
const idleMs = 4_000;
const idleMsMax = 60_000;
/** A host is looked up, and judged, again at the latest after this. */
const connectionAgeMsMax = 300_000;

/** Creates a sender. It holds connections until it is closed. */
export function createSender(options: SenderOptions = {}): Sender {
  const traces = new AsyncLocalStorage<ConnectionTrace>();
  const lanes = new Map<string, Lane>();
  const resolve = options.resolve ?? createResolver();
  const laneOf = (request: SendRequest): Lane => {
    const key = laneKey(request);
    const lane = lanes.get(key) ?? createLane(request, traces, { ...options, resolve });
    // The order of the map is the order of last use.
    lanes.delete(key);
    lanes.set(key, lane);
    dropOldest(lanes);
    return lane;
  };
  let isClosed = false;
  return {
    send: async (request) => {
      const outcome = isClosed ? givenUp() : await send(laneOf(request), traces, request);
      return maskOutcome(outcome, request.headers);
    },
    close: async () => {
      isClosed = true;
      const agents = [...lanes.values()].map(({ agent }) => agent.destroy());
      lanes.clear();
      await Promise.all(agents);
    },
  };
}

/** Of networks without TLS identity: the configuration's own objects, which live as long as it does. */
const plainKeys = new WeakMap<NetworksConfig, string>();

/** Partners share connections only if they trust, show and may reach the same. */
function laneKey(request: SendRequest): string {
  const known = request.tls === undefined ? plainKeys.get(request.networks) : undefined;
  if (known !== undefined) {
    return known;
  }
  const key = freshLaneKey(request);
  if (request.tls === undefined) {
    plainKeys.set(request.networks, key);
  }
  return key;
}

function freshLaneKey({ networks, tls }: SendRequest): string {
  const identity = tls === undefined ? "" : hash("sha256", JSON.stringify([tls.ca, tls.cert, tls.key]), "hex");
  return `${networks.allowPlaintext}|${networks.allowCidrs.join(",")}|${identity}`;
}

function createLane(
  { networks, tls }: SendRequest,
  traces: AsyncLocalStorage<ConnectionTrace>,
  { resolve, connectTimeoutMs = 5_000, connectionsMax = 256 }: SenderOptions & { readonly resolve: Resolver },
): Lane {
  const guard = createGuard(networks);
  const agent = new Agent({
    connect: guardedConnector({ guard, tls: tls ?? {}, resolve, timeoutMs: connectTimeoutMs, traces }),
    connections: connectionsMax,
    clientTtl: connectionAgeMsMax,
    allowH2: false,
    keepAliveTimeout: idleMs,
    keepAliveMaxTimeout: idleMsMax,
    maxHeaderSize: responseHeadBytesMax,
    // The attempt's own timer bounds head and body together.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  return { agent, faultOf: judgeOnce(guard) };
}

/** URLs are the partners' own objects, which nobody changes. */
function judgeOnce(guard: Guard): Lane["faultOf"] {
  const judged = new WeakMap<URL, { readonly fault: string | undefined }>();
  return (url) => {
    const known = judged.get(url) ?? { fault: urlFault(guard, url) };
    judged.set(url, known);
    return known.fault;
  };
}

function dropOldest(lanes: Map<string, Lane>): void {
  const [oldest] = lanes;
  if (lanes.size > lanesMax && oldest !== undefined) {
    lanes.delete(oldest[0]);
    oldest[1].agent.close().catch(() => undefined);
  }
}

async function send(
  { agent, faultOf }: Lane,
  traces: AsyncLocalStorage<ConnectionTrace>,
  request: SendRequest,
): Promise<Outcome> {
  const fault = faultOf(request.url);
  if (fault !== undefined) {
    return { kind: "failure", reason: "guard", detail: fault, timings: { totalMs: 0 } };
  }
  if (request.signal?.aborted === true) {
    return givenUp();
  }
  const outcome = await new Promise<Outcome>((settle) => {
    const exchange = new Exchange((settled) => {
      release();
      settle(settled);
    });
    const release = bound(exchange, request);
    traces.run(exchange.connection, () => agent.dispatch(dispatchOptions(request), exchange));
  });
  // The client frees a connection one turn after its answer; a caller that sends on at once would open another.
  await setImmediate();
  return outcome;
}

function givenUp(): Outcome {
  return { kind: "failure", reason: "aborted", detail: "given up before it began", timings: { totalMs: 0 } };
}

function dispatchOptions({ method = "POST", url, headers, body }: SendRequest): Agent.DispatchOptions {
  const content = method === "POST" ? { body } : {};
  return { origin: url.origin, path: url.pathname + url.search, method, headers: { ...headers }, ...content };
}

/** Ends the exchange at its time or at the caller's signal. Returns what lets go of both. */
function bound(exchange: Exchange, { timeoutMs, signal }: SendRequest): () => void {
  const timer = setTimeout(() => exchange.expire(), timeoutMs);
  const abandon = (): void => exchange.abandon();
  signal?.addEventListener("abort", abandon, { once: true });
  return () => {
    clearTimeout(timer);
    signal?.removeEventListener("abort", abandon);
  };
}
