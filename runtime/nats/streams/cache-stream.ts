import { nanos } from "@nats-io/transport-node";
import type { NatsConnectionHandle } from "../connection/connect.ts";
import { layoutVersion, type Layout } from "../layout.ts";
import { publish } from "../messages/publish.ts";

/** Bytes by name in the memory of NATS, shared by all pods. They may be lost at any time. */
interface CacheStream {
  /** Reads the newest bytes of a name; undefined without a value or without a timely answer. Never rejects. */
  get(name: string): Promise<Uint8Array | undefined>;
  /** Stores bytes for all pods if possible. Never rejects. */
  put(name: string, bytes: Uint8Array): Promise<void>;
  /** `failing`: there is no connection, or the last value was not stored. */
  state(): "ok" | "failing";
}

/** Largest size of a value; larger values are not shared. Source: design §5 "Extents". */
export const cachedBytesMax = 256 * 1024;

/** Source: seed "Operational Metrics API" §8, "Distributed cache: up to 5 min". */
const ageMsMax = 300_000;
const streamBytesMax = 64 * 1024 * 1024;
/** Well above a round trip, well below the time of a store request. */
const readTimeoutMs = 150;
/** Pause after a failed creation of the stream. */
const pauseMs = 10_000;

/**
 * Creates the access to the cache stream. The first write creates the stream, as does a write after its server lost it.
 */
export function createCacheStream(
  nats: NatsConnectionHandle,
  layout: Pick<Layout, "streams" | "cached">,
  now: () => number = () => performance.now(),
): CacheStream {
  let triedAtMs = Number.NEGATIVE_INFINITY;
  let making: Promise<boolean> | undefined;
  let isKept = true;
  const make = (): Promise<boolean> => {
    if (making === undefined && now() - triedAtMs < pauseMs) return Promise.resolve(false);
    triedAtMs = now();
    making ??= makeStream(nats, layout)
      .then(
        () => true,
        () => false,
      )
      .finally(() => {
        making = undefined;
      });
    return making;
  };
  const store = (name: string, payload: Uint8Array): Promise<boolean> =>
    publish(nats, { subject: layout.cached(name), payload }).then(
      ({ kind }) => kind === "stored",
      () => false,
    );
  return {
    async get(name) {
      const subject = `$JS.API.DIRECT.GET.${layout.streams.cache}.${layout.cached(name)}`;
      const bytes = await nats.requests.request(subject, "", { timeoutMs: readTimeoutMs }).catch(() => undefined);
      return bytes === undefined || bytes.length === 0 ? undefined : bytes;
    },
    async put(name, bytes) {
      if (bytes.length > cachedBytesMax || !nats.isConnected()) return;
      isKept = (await store(name, bytes)) || ((await make()) && (await store(name, bytes)));
    },
    state: () => (nats.isConnected() && isKept ? "ok" : "failing"),
  };
}

async function makeStream(
  { manager }: NatsConnectionHandle,
  { streams, cached }: Pick<Layout, "streams" | "cached">,
): Promise<void> {
  await manager.streams.add({
    name: streams.cache,
    subjects: [cached("*")],
    storage: "memory",
    num_replicas: 1,
    discard: "old",
    max_msgs_per_subject: 1,
    max_age: nanos(ageMsMax),
    max_bytes: streamBytesMax,
    max_msg_size: cachedBytesMax,
    allow_direct: true,
    metadata: { heliograph_layout: layoutVersion },
  });
}
