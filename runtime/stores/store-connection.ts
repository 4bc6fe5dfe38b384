import { queryDeadlineMsDefault, type StoreConfig } from "../../crds/config.ts";
import { createRunningClock, type RunningClock, waitInQueue } from "../../limits/clock.ts";
import { exchangeAuthorized } from "./authorization/exchange-authorized.ts";
import { authorizerOf } from "./authorization/role-signer.ts";
import { createPeerHttp, type MakePeerClient } from "./peer/peer-http.ts";
import { probeStore, type StoreCapabilities } from "./prometheus/probe-store.ts";
import { createPrometheusClient, type PrometheusClient } from "./prometheus/prometheus-client.ts";
import {
  createRetryBudget,
  createStoreHttp,
  type Post,
  retried,
  type StoreCall,
  storeRequestsMax,
} from "./prometheus/store-http.ts";
import { StoreError } from "./store-error.ts";
import { type Material, secretsOf, type SharedAccess } from "./store-secrets.ts";

/** Share of the time of a read after which a response is missing. The rest is for what precedes the request. */
const fullShare = 0.9;

export interface ConnectionOptions extends SharedAccess {
  readonly config: StoreConfig;
  readonly material: Material;
  /** Used for a store that is a peer. */
  readonly makePeerClient: MakePeerClient;
}

/**
 * Sends one request of a background job. It takes no place of queries, is not repeated, and says nothing about the
 * health of the store. The caller sends one at a time.
 */
export interface BackgroundHttp {
  readonly post: Post;
  readonly get: Post;
}

/** The connections to one store, a Prometheus or a peer. */
export interface StoreConnection {
  readonly client: PrometheusClient;
  readonly timeoutMs: number;
  /** Undefined for a peer. */
  readonly background: BackgroundHttp | undefined;
  readonly probe: (nowMs: number, call: StoreCall) => Promise<StoreCapabilities>;
  /** The number of responses from the store. */
  readonly responses: () => number;
  readonly silence: StoreSilence;
  close(options: { readonly atOnce: boolean }): Promise<void>;
}

/** Sends one request. */
type Around = <Response>(call: StoreCall, send: () => Promise<Response>) => Promise<Response>;

/**
 * Creates the connections of a store. Its requests wait for one of its own places, so that they take nothing from other
 * stores. The probe does not wait, because a busy store is not a failing one.
 */
export function connectStore(options: ConnectionOptions): StoreConnection {
  const { config, material, makePeerClient } = options;
  const { region, prometheus, peer } = config;
  const budget = createRetryBudget();
  const { noted, queued, ...watched } = watchRequests(options);
  if (prometheus !== undefined) {
    const secrets = secretsOf(prometheus, material);
    const authorizer = authorizerOf(prometheus, secrets, options.webIdentity);
    const http = createStoreHttp(prometheus, secrets, exchangeAuthorized(authorizer));
    const clientOver = (around: Around): PrometheusClient =>
      createPrometheusClient(prometheus, (path, form, call, grid) =>
        retried(() => around(call, () => http.post(path, form, call, grid)), call.signal, budget),
      );
    const prober = clientOver(noted);
    return {
      ...watched,
      client: clientOver(queued),
      timeoutMs: prometheus.timeoutMs,
      background: { post: http.post, get: http.get },
      probe: (nowMs, call) => probeStore(prober, nowMs, call),
      async close(ending) {
        await Promise.all([http.close(ending), authorizer?.close()]);
      },
    };
  }
  const http = createPeerHttp(peer, secretsOf(peer, material), budget);
  const terms = { region, increases: peer.increases };
  const clientOver = (around: Around) =>
    makePeerClient((body, call) => around(call, () => http.send(body, call)), terms);
  const prober = clientOver(noted);
  return {
    ...watched,
    client: clientOver(queued),
    timeoutMs: peer.timeoutMs,
    background: undefined,
    probe: (_nowMs, call) => prober.probe(call),
    close: (ending) => http.close(ending),
  };
}

interface WatchedRequests extends Pick<StoreConnection, "responses" | "silence"> {
  /** Sends at once. */
  readonly noted: Around;
  /** Sends when a place is free. */
  readonly queued: Around;
}

function watchRequests({ config, deadlineMs = queryDeadlineMsDefault }: ConnectionOptions): WatchedRequests {
  const { timeoutMs } = config.prometheus ?? config.peer;
  const silence = createStoreSilence(fullShare * Math.min(timeoutMs, deadlineMs));
  const slots = createStoreSlots(storeRequestsMax);
  let responded = 0;
  const noted: Around = async (_call, send) => {
    const end = silence.begin();
    try {
      const response = await send();
      responded += 1;
      end(true);
      return response;
    } catch (error) {
      end(isOfResponse(error));
      throw error;
    }
  };
  const queued: Around = async (call, send) => {
    const leave = await slots.enter(call.signal, call.origin?.correlationId ?? "");
    return noted(call, send).finally(leave);
  };
  return { noted, queued, responses: () => responded, silence };
}

/** Tests if an error was made of a response. A timeout that the store reports is none. */
function isOfResponse(error: unknown): boolean {
  return error instanceof StoreError && error.kind !== "late" && error.kind !== "unreachable";
}

/** Most requests that wait for one store. */
const waitingMax = 20_000;

/** Places for the requests to one store. */
interface StoreSlots {
  /**
   * Waits for a place. API requests take turns, so that one with many reads does not hold up the others.
   *
   * @param turn of the API request; reads with the same turn keep their order
   * @returns the function that releases the place
   * @throws the signal's reason if it is aborted first; StoreError `late` if too many requests wait
   */
  enter(signal: AbortSignal, turn: string): Promise<() => void>;
}

/** Creates places that are all free. */
export function createStoreSlots(size: number): StoreSlots {
  const waiting = new Map<string, Set<() => void>>();
  let [taken, waitingCount] = [0, 0];

  const add = (turn: string, enter: () => void): void => {
    waiting.set(turn, (waiting.get(turn) ?? new Set()).add(enter));
    waitingCount += 1;
  };
  const remove = (turn: string, enter: () => void): void => {
    const own = waiting.get(turn);
    if (own?.delete(enter) === true) waitingCount -= 1;
    if (own?.size === 0) waiting.delete(turn);
  };
  const leave = (): void => {
    const [next] = waiting;
    const [enter] = next?.[1] ?? [];
    if (next === undefined || enter === undefined) {
      taken -= 1;
      return;
    }
    const [turn, own] = next;
    remove(turn, enter);
    // The turn goes behind all others.
    if (waiting.delete(turn)) waiting.set(turn, own);
    // The place passes on, so that no later request takes it.
    enter();
  };

  return {
    async enter(signal, turn) {
      signal.throwIfAborted();
      if (taken < size) {
        taken += 1;
        return once(leave);
      }
      if (waitingCount >= waitingMax) throw new StoreError("late", `more than ${waitingMax} requests wait`);
      await waitInQueue({ add: (enter) => add(turn, enter), delete: (enter) => remove(turn, enter) }, signal);
      return once(leave);
    },
  };
}

function once(leave: () => void): () => void {
  let hasLeft = false;
  return () => {
    if (hasLeft) return;
    hasLeft = true;
    leave();
  };
}

/** The requests to one store that have no response yet, and those that never got one. */
interface StoreSilence {
  /** Milliseconds of the clock of this record. */
  nowMs(): number;
  /** Notes a request. Returns the function that notes its end. */
  begin(): (hasResponded: boolean) => void;
  /**
   * Tests if a request had its full time since `sinceMs` without any response of the store. A request with less time,
   * and one that waited while others got responses, say nothing about the health of the store.
   */
  wasSilentSince(sinceMs: number): boolean;
}

interface OpenRequest {
  readonly sentAtMs: number;
}

/**
 * Creates a record without requests. A time in which this process stood still is not one in which the store was silent:
 * its responses may wait to be read.
 *
 * @param fullMs time after which a response is missing
 */
export function createStoreSilence(fullMs: number, clock: RunningClock = createRunningClock()): StoreSilence {
  const now = (): number => clock.nowMs();
  // In the order in which they were sent.
  const open = new Set<OpenRequest>();
  let [respondedAtMs, silentAtMs] = [Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY];
  const isSilent = ({ sentAtMs }: OpenRequest): boolean => now() - Math.max(sentAtMs, respondedAtMs) >= fullMs;
  return {
    nowMs: now,
    begin() {
      const stop = clock.start();
      const request = { sentAtMs: now() };
      open.add(request);
      return (hasResponded) => {
        open.delete(request);
        stop();
        if (hasResponded) respondedAtMs = now();
        else if (isSilent(request)) silentAtMs = now();
      };
    },
    wasSilentSince(sinceMs) {
      const [oldest] = open;
      return silentAtMs >= sinceMs || (oldest !== undefined && isSilent(oldest));
    },
  };
}
