import { setTimeout as sleep } from "node:timers/promises";
import { JetStreamApiError, type StreamConfig } from "@nats-io/jetstream";
import { Kvm } from "@nats-io/kv";
import { nanos, TimeoutError } from "@nats-io/transport-node";
import type { RetentionSettings, StreamSettings } from "../../config/settings/settings.ts";
import type { NatsConnectionHandle } from "../connection/connect.ts";
import { createLayout, layoutVersion, type Layout } from "../layout.ts";
import { Unanswered } from "../connection/requests.ts";
import { limitsFault } from "../connection/server-limits.ts";
import { lossOf, readIdentities, recallIdentities, StreamsLost, type StreamIdentities } from "./stream-identities.ts";
import { isVersionEnough, serverVersionMin } from "../connection/server-version.ts";

/** An acknowledgement scans the consumers of a work queue; partners beyond this share lanes long before. */
const maxConsumersPerStream = 20_000;
/** How long an id of `HG_DELIVERIES` is remembered: longer than any repeat of one publish takes. */
const deliveriesDuplicateWindowMs = 120_000;
/** Dead letters are few, and a repeat after a crash may come late. */
const deadLettersDuplicateWindowMs = 3_600_000;
const advisoriesAgeMs = 7 * 86_400_000;
const advisoriesBytesMax = 64 * 1024 * 1024;
const replaysAgeMs = 7 * 86_400_000;
/** Marks of replays, about 150 bytes each; without a bound in bytes, so that nothing is set aside for them. */
const replayMarksMax = 2_000_000;
/** Source: wire, "`Idempotency-Key` is honoured … for 24 h". */
const idempotencyAgeMs = 86_400_000;
const idempotencyBytesMax = 32 * 1024 * 1024;
/** Well above the age at which a pod counts as gone. */
const podHeartbeatAgeMs = 10_000;
const patienceMs = 30_000;
const pauseMs = 500;
const secondMs = 1_000;

/** Error codes of the JetStream API. Source: nats-server `errors.json`. */
const apiCode = {
  streamNotFound: 10059,
  streamNameInUse: 10058,
  storageExceeded: 10047,
} as const;
/** Not enabled: on the server, for the account. */
const offCodes: ReadonlySet<number | undefined> = new Set([10076, 10039]);
const unavailableStatus = 503;

type NamedConfig = Partial<StreamConfig> & { readonly name: string };

/**
 * Makes every stream and bucket that is missing and brings sizes, ages and replicas of the others up to the settings.
 * Running it again changes nothing. How long written data may stay away from the disk (`sync_interval`) is the server's
 * own setting.
 *
 * @throws StreamsLost when one held what was accepted, and another pod or what is left of them tells so
 * @throws Error in a sentence for people: server too old or its limits too low, JetStream off, no room, or a stream
 * that something else made
 */
export async function ensureTopology(handle: NatsConnectionHandle, settings: StreamSettings): Promise<Layout> {
  assertServerVersion(handle);
  await patiently(() => assertJetStream(handle));
  const layout = createLayout(settings.prefix);
  await repairTopology(handle, settings, await recallIdentities(handle, layout));
  return layout;
}

/**
 * Makes again what somebody deleted while the program runs, but for streams that held what was accepted.
 *
 * @param known the streams that were there before
 * @returns names of the streams that had to be made
 * @throws Error as {@link ensureTopology}
 */
export async function repairTopology(
  handle: NatsConnectionHandle,
  settings: StreamSettings,
  known: StreamIdentities,
): Promise<readonly string[]> {
  const layout = createLayout(settings.prefix);
  await patiently(() => assertNothingLost(handle, settings, known));
  const made: string[] = [];
  for (const config of streamConfigs(layout, settings)) {
    if (await patiently(() => ensureStream(handle, config))) {
      made.push(config.name);
    }
  }
  await patiently(() => ensureBuckets(handle, layout, settings.replicas));
  return made;
}

/** Whether every stream and bucket is there, whatever its limits are: one question. */
export async function isTopologyWhole(handle: NatsConnectionHandle, settings: StreamSettings): Promise<boolean> {
  const { missing } = await inventory(handle, settings);
  return missing.length === 0;
}

/** Names of streams, those of buckets too, by whether they are there. */
async function inventory(handle: NatsConnectionHandle, settings: StreamSettings) {
  const layout = createLayout(settings.prefix);
  const buckets = Object.values(layout.buckets).map((bucket) => `KV_${bucket}`);
  const all = [...streamConfigs(layout, settings).map(({ name }) => name), ...buckets];
  const found = new Set<string>();
  for await (const name of handle.manager.streams.names()) found.add(name);
  return { present: all.filter((name) => found.has(name)), missing: all.filter((name) => !found.has(name)) };
}

/** The events are the first that is made, so that without them the others are what is left of an installation. */
async function assertNothingLost(
  handle: NatsConnectionHandle,
  settings: StreamSettings,
  known: StreamIdentities,
): Promise<void> {
  const layout = createLayout(settings.prefix);
  const loss = lossOf(known, await readIdentities(handle, layout));
  if (loss !== undefined) throw new StreamsLost(loss);
  const { events } = layout.streams;
  const { present, missing } = await inventory(handle, settings);
  if (!missing.includes(events) || present.length === 0) return;
  throw new StreamsLost(
    `StreamsLost: ${events} is gone, while ${present.join(", ")} are there. No empty stream is used in its ` +
      "place. Restore a backup, " +
      "or remove those streams too to begin without what was accepted",
  );
}

function assertServerVersion(handle: NatsConnectionHandle): void {
  const version = handle.connection.info?.version ?? "";
  if (!isVersionEnough(version)) {
    throw new Error(`nats-server ${version} is too old: scheduled messages need ${serverVersionMin} or newer`);
  }
}

async function assertJetStream(handle: NatsConnectionHandle): Promise<void> {
  const off = `JetStream is not enabled on ${handle.connection.getServer()}: start nats-server with JetStream`;
  const payload = await handle.requests.ask("$JS.API.INFO", "").catch((cause: unknown) => {
    throw cause instanceof Unanswered && cause.reason === "no_responders" ? new Error(off, { cause }) : cause;
  });
  const { error, limits: found } = JSON.parse(Buffer.from(payload).toString()) as AccountResponse;
  if (error !== undefined && offCodes.has(error.err_code)) {
    throw new Error(off);
  }
  const { max_streams: streams = -1, max_consumers: consumers = -1 } = found ?? {};
  const fault = limitsFault({ maxPayloadBytes: handle.connection.info?.max_payload, streams, consumers });
  if (fault !== undefined) {
    throw new Error(fault);
  }
}

interface AccountResponse {
  readonly error?: { readonly err_code?: number };
  readonly limits?: { readonly max_streams?: number; readonly max_consumers?: number };
}

/** A cluster that just started answers 503 for a while, or nothing; every step may be repeated. */
async function patiently<T>(step: () => Promise<T>): Promise<T> {
  const deadlineMs = performance.now() + patienceMs;
  for (;;) {
    try {
      return await step();
    } catch (error) {
      if (!isPassing(error) || performance.now() >= deadlineMs) {
        throw error;
      }
      await sleep(pauseMs);
    }
  }
}

function isPassing(error: unknown): boolean {
  if (error instanceof JetStreamApiError) return error.status === unavailableStatus;
  return error instanceof TimeoutError || (error instanceof Unanswered && error.reason === "timeout");
}

function streamConfigs(layout: Layout, settings: StreamSettings): readonly NamedConfig[] {
  const { streams, filters } = layout;
  const common = {
    storage: "file",
    num_replicas: settings.replicas,
    allow_direct: true,
    metadata: { heliograph_layout: layoutVersion },
  } as const;
  return [
    // Old events are never dropped for new ones: producers are refused instead.
    { ...common, name: streams.events, subjects: [filters.events], discard: "new", ...limits(settings.events) },
    {
      ...common,
      name: streams.deliveries,
      subjects: [...filters.deliveries],
      retention: "workqueue",
      // Schedules allow no `discard: new`; there is no size limit either, since what it discarded would be deliveries.
      // One message per subject replaces, so every publish here states the sequence it expects.
      max_msgs_per_subject: 1,
      allow_msg_schedules: true,
      max_consumers: maxConsumersPerStream,
      duplicate_window: nanos(deliveriesDuplicateWindowMs),
    },
    { ...common, name: streams.attempts, subjects: [filters.attempts], discard: "old", ...limits(settings.attempts) },
    {
      ...common,
      name: streams.deadLetters,
      subjects: [filters.deadLetters],
      discard: "new",
      // A partner may keep its dead letters for a shorter time.
      allow_msg_ttl: true,
      ...limits(settings.deadLetters),
      duplicate_window: nanos(Math.min(deadLettersDuplicateWindowMs, settings.deadLetters.maxAgeSeconds * secondMs)),
    },
    {
      ...common,
      name: streams.replays,
      subjects: [filters.replays],
      discard: "old",
      max_msgs_per_subject: 1,
      max_age: nanos(replaysAgeMs),
      max_msgs: replayMarksMax,
    },
    {
      ...common,
      name: streams.advisories,
      subjects: [streams.events, streams.deliveries].flatMap(advisorySubjects),
      discard: "old",
      max_age: nanos(advisoriesAgeMs),
      max_bytes: advisoriesBytesMax,
    },
  ];
}

function limits(retention: RetentionSettings): Partial<StreamConfig> {
  return { max_age: nanos(retention.maxAgeSeconds * secondMs), max_bytes: retention.maxBytes };
}

function advisorySubjects(stream: string): readonly string[] {
  return ["MAX_DELIVERIES", "MSG_TERMINATED"].map((kind) => `$JS.EVENT.ADVISORY.CONSUMER.${kind}.${stream}.*`);
}

/** Whether the stream had to be made. */
async function ensureStream(handle: NatsConnectionHandle, config: NamedConfig): Promise<boolean> {
  const existing = await existingStream(handle, config.name);
  if (existing === undefined) {
    await addStream(handle, config);
    return true;
  }
  const found = existing.metadata?.["heliograph_layout"];
  if (found !== layoutVersion) {
    const what = found === undefined ? "was not made by Heliograph" : `has layout ${found}, not ${layoutVersion}`;
    throw new Error(`the stream ${config.name} ${what}; choose another prefix (settings: streams.prefix)`);
  }
  if (differs(existing, config)) {
    await handle.manager.streams.update(config.name, config);
  }
  return false;
}

async function existingStream(handle: NatsConnectionHandle, name: string): Promise<StreamConfig | undefined> {
  try {
    return (await handle.manager.streams.info(name)).config;
  } catch (error) {
    if (error instanceof JetStreamApiError && error.code === apiCode.streamNotFound) {
      return undefined;
    }
    throw error;
  }
}

async function addStream(handle: NatsConnectionHandle, config: NamedConfig): Promise<void> {
  try {
    await handle.manager.streams.add(config);
  } catch (cause) {
    if (cause instanceof JetStreamApiError && cause.code === apiCode.storageExceeded) {
      const need = `${config.max_bytes ?? 0} bytes`;
      throw new Error(`NATS has no room for the stream ${config.name} (${need}); lower its size in the settings`, {
        cause,
      });
    }
    // Another pod may have made it with other limits a moment ago; the next look compares them.
    if (!(cause instanceof JetStreamApiError && cause.code === apiCode.streamNameInUse)) {
      throw cause;
    }
    await ensureStream(handle, config);
  }
}

function differs(existing: StreamConfig, wanted: NamedConfig): boolean {
  const settable = ["max_age", "max_bytes", "num_replicas", "duplicate_window", "subjects", "allow_msg_ttl"] as const;
  return settable.some((key) => wanted[key] !== undefined && String(existing[key]) !== String(wanted[key]));
}

async function ensureBuckets(handle: NatsConnectionHandle, layout: Layout, replicas: number): Promise<void> {
  const kvm = new Kvm(handle.connection);
  await kvm.create(layout.buckets.pods, { replicas, history: 1, ttl: podHeartbeatAgeMs, allow_direct: true });
  const { disabledPartners, promotedPartners, fullPartners, partners } = layout.buckets;
  for (const bucket of [disabledPartners, promotedPartners, fullPartners, partners]) {
    await kvm.create(bucket, { replicas, history: 1, allow_direct: true });
  }
  await kvm.create(layout.buckets.replays, { replicas, history: 1, ttl: replaysAgeMs, allow_direct: true });
  const idempotency = { ttl: idempotencyAgeMs, max_bytes: idempotencyBytesMax };
  await kvm.create(layout.buckets.idempotency, { replicas, history: 1, ...idempotency, allow_direct: true });
}
