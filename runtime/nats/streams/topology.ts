// Streams: one file per stream, the buckets, and their creation. Stored records are in `webhooks/records/`.
import { DiscardPolicy, JetStreamApiError, type StreamConfig } from "@nats-io/jetstream";
import { Kvm, type KvOptions } from "@nats-io/kv";
import { nanos } from "@nats-io/transport-node";
import type { RetentionSettings, StreamSettings } from "../../config/settings/settings.ts";
import type { NatsConnectionHandle } from "../connection/connect.ts";
import { createLayout, layoutVersion, type Layout } from "../layout.ts";
import { NoReplyError } from "../connection/requests.ts";
import { hasNoResponders, isUnavailable, untilAvailable, untilReceived } from "../connection/retry-until-reply.ts";
import { isVersionEnough, limitsFault, serverVersionMin } from "../connection/server-limits.ts";
import {
  lossOf,
  readIdentities,
  requestIdentities,
  type StreamIdentities,
  type StreamRecord,
  StreamsLost,
  unknownOf,
} from "./stream-identities.ts";

/** Limit of consumers. An acknowledgement scans all consumers of a work queue, so partners share lanes long before. */
const maxConsumersPerStream = 20_000;
/** Duplicate window of `HG_DELIVERIES`: longer than all repeats of one publish. */
const deliveriesDuplicateWindowMs = 120_000;
/** Longer, because dead letters are few and a repeat after a crash may come late. */
const deadLettersDuplicateWindowMs = 3_600_000;
const advisoriesAgeMs = 7 * 86_400_000;
const advisoriesBytesMax = 64 * 1024 * 1024;
/** About three million rows. The index only shortens reads, so it may lose its oldest rows. */
const indexBytesMax = 64 * 1024 * 1024;
const usageAgeMs = 35 * 86_400_000;
/** Limit of chunks of usage, of 500 rows and about 11 KB at most. A limit in bytes would reserve storage. */
const usageChunksMax = 100_000;
const replaysAgeMs = 7 * 86_400_000;
/** Limit of replay marks, about 150 bytes each. A limit in bytes would reserve storage. */
const replayMarksMax = 2_000_000;
/** An `Idempotency-Key` is honoured for a day. */
const idempotencyAgeMs = 86_400_000;
const idempotencyBytesMax = 32 * 1024 * 1024;
const previewsAgeMs = 86_400_000;
/** Above the time limit of the longest attempt: a pod that starts finds those whose attempts may be under way. */
const podHeartbeatAgeMs = 90_000;
const secondMs = 1_000;
/** JetStream is off on a server that has no JetStream API for this long. */
const offMsMin = 3_000;

/** Error codes of the JetStream API. Source: nats-server `errors.json`. */
const apiCode = { streamNotFound: 10059, streamNameInUse: 10058, storageExceeded: 10047 } as const;
/** Not enabled: on the server, for the account. */
const offCodes: ReadonlySet<number | undefined> = new Set([10076, 10039]);

/** JetStream does not respond, or is off. The start has changed nothing, so that it may be repeated. */
export class JetStreamUnavailable extends Error {
  override readonly name = "JetStreamUnavailable";
}

/** Makes the first steps of a start. @throws JetStreamUnavailable when one waited in vain; every other error of them */
export async function orUnavailable<T>(steps: () => Promise<T>): Promise<T> {
  try {
    return await steps();
  } catch (cause) {
    if (!isUnavailable(cause)) throw cause;
    throw new JetStreamUnavailable("JetStream does not respond; a cluster needs a majority of its servers", { cause });
  }
}

type NamedConfig = Partial<StreamConfig> & { readonly name: string };

/**
 * Creates missing streams and buckets and applies the settings to the others: sizes, ages and replicas. A second run
 * changes nothing. The interval of syncs to disk (`sync_interval`) is a setting of the server.
 *
 * @param record the streams as they are kept outside NATS. @default none are
 * @throws StreamsLost when a missing stream held accepted data, as the record, another pod or the other streams show
 * @throws JetStreamUnavailable when JetStream is off
 * @throws Error with one sentence for the operator: server too old or its limits too low, no storage left, or a foreign
 *   stream of the same name
 */
export async function ensureTopology(
  handle: NatsConnectionHandle,
  settings: StreamSettings,
  record?: Pick<StreamRecord, "read">,
): Promise<Layout> {
  await untilAvailable(async () => {
    assertServerVersion(handle);
    await assertJetStream(handle);
  });
  const layout = createLayout(settings.prefix);
  const recorded = record === undefined ? noStreams : await record.read();
  if (recorded === undefined) {
    const fault = unknownOf(await untilAvailable(() => readIdentities(handle, layout)), layout);
    if (fault !== undefined) throw new StreamsLost(fault);
  }
  const fromPods = await requestIdentities(handle, layout);
  await repairTopology(handle, settings, new Map([...(recorded ?? noStreams), ...fromPods]));
  return layout;
}

const noStreams: StreamIdentities = new Map();

/**
 * Creates streams and buckets again that were deleted while the program runs, except streams with accepted data.
 *
 * @param known the streams that existed before
 * @returns names of the created streams
 * @throws Error as {@link ensureTopology}
 */
export async function repairTopology(
  handle: NatsConnectionHandle,
  settings: StreamSettings,
  known: StreamIdentities,
): Promise<readonly string[]> {
  const layout = createLayout(settings.prefix);
  await untilAvailable(() => assertNothingLost(handle, settings, known));
  const ensure = async (config: NamedConfig): Promise<readonly string[]> =>
    (await untilAvailable(() => ensureStream(handle, config))) ? [config.name] : [];
  const [events, ...others] = streamConfigs(layout, settings);
  // The events stream comes first. After a crash between, its absence among the others would look like a loss.
  const made = await ensure(events);
  const kvm = new Kvm(handle.connection);
  const buckets = bucketOptions(layout, settings.replicas).map(([name, options]) =>
    untilAvailable(() => kvm.create(name, options)),
  );
  const [more] = await Promise.all([Promise.all(others.map(ensure)), ...buckets]);
  return [...made, ...more.flat()];
}

/** Whether all streams and buckets exist. It takes one request and does not compare limits. */
export async function isTopologyWhole(handle: NatsConnectionHandle, settings: StreamSettings): Promise<boolean> {
  const { missing } = await inventory(handle, settings);
  return missing.length === 0;
}

/** Names of present and missing streams, including those of buckets. */
async function inventory(handle: NatsConnectionHandle, settings: StreamSettings) {
  const layout = createLayout(settings.prefix);
  const buckets = Object.values(layout.buckets).map((bucket) => `KV_${bucket}`);
  const all = [...streamConfigs(layout, settings).map(({ name }) => name), ...buckets];
  const found = new Set<string>();
  for await (const name of handle.manager.streams.names()) found.add(name);
  return { present: all.filter((name) => found.has(name)), missing: all.filter((name) => !found.has(name)) };
}

/**
 * Throws when a stream with accepted data is lost. The events stream is created first. If it is missing while others
 * exist, the others are the rest of an installation.
 */
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
  const version = handle.connection.info?.version;
  // The client forgets it with the connection.
  if (version === undefined) throw new NoReplyError("INFO", "disconnected");
  if (!isVersionEnough(version))
    throw new Error(`nats-server ${version} is too old: scheduled messages need ${serverVersionMin} or newer`);
}

async function assertJetStream(handle: NatsConnectionHandle): Promise<void> {
  const off = `JetStream is not enabled on ${handle.connection.getServer()}: start nats-server with JetStream`;
  const request = (): Promise<Uint8Array> => handle.requests.request("$JS.API.INFO", "");
  const payload = await untilReceived(request, offMsMin).catch((cause: unknown) => {
    throw hasNoResponders(cause) ? new JetStreamUnavailable(off, { cause }) : cause;
  });
  const { error, limits: found } = JSON.parse(Buffer.from(payload).toString()) as AccountResponse;
  if (error !== undefined && offCodes.has(error.err_code)) throw new JetStreamUnavailable(off);
  const { max_streams: streams = -1, max_consumers: consumers = -1 } = found ?? {};
  const fault = limitsFault({ maxPayloadBytes: handle.connection.info?.max_payload, streams, consumers });
  if (fault !== undefined) throw new Error(fault);
}

interface AccountResponse {
  readonly error?: { readonly err_code?: number };
  readonly limits?: { readonly max_streams?: number; readonly max_consumers?: number };
}

/** The configurations of all streams; that of the events comes first. */
function streamConfigs(
  layout: Layout,
  settings: StreamSettings,
): readonly [events: NamedConfig, ...others: NamedConfig[]] {
  const { streams, filters } = layout;
  const common = {
    storage: "file",
    num_replicas: settings.replicas,
    allow_direct: true,
    metadata: { heliograph_layout: layoutVersion },
  } as const;
  return [
    // A full stream rejects new events; it never drops old ones.
    { ...common, name: streams.events, subjects: [filters.events], discard: "new", ...limits(settings.events) },
    {
      ...common,
      name: streams.deliveries,
      subjects: [...filters.deliveries],
      retention: "workqueue",
      // Schedules exclude `discard: new`. A size limit would discard old deliveries, so there is none. A new message
      // replaces the one of its subject, so every publish states the expected sequence.
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
      // A partner may have a shorter retention of dead letters.
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
    {
      ...common,
      name: streams.index,
      subjects: [layout.indexSubject],
      discard: "old",
      max_age: nanos(Math.max(settings.events.maxAgeSeconds, settings.attempts.maxAgeSeconds) * secondMs),
      max_bytes: indexBytesMax,
    },
    { ...common, ...usageConfig(layout) },
  ];
}

function usageConfig({ streams, filters }: Layout): NamedConfig {
  return {
    name: streams.usage,
    subjects: [filters.usage],
    discard: DiscardPolicy.Old,
    max_msgs_per_subject: 1,
    max_age: nanos(usageAgeMs),
    max_msgs: usageChunksMax,
  };
}

function limits(retention: RetentionSettings): Partial<StreamConfig> {
  return { max_age: nanos(retention.maxAgeSeconds * secondMs), max_bytes: retention.maxBytes };
}

function advisorySubjects(stream: string): readonly string[] {
  return ["MAX_DELIVERIES", "MSG_TERMINATED"].map((kind) => `$JS.EVENT.ADVISORY.CONSUMER.${kind}.${stream}.*`);
}

/** Creates a missing stream or updates an existing one. Returns whether it was created. */
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
    // The metadata of a copy holds its identity.
    await handle.manager.streams.update(config.name, {
      ...config,
      metadata: { ...existing.metadata, ...config.metadata },
    });
  }
  return false;
}

async function existingStream(handle: NatsConnectionHandle, name: string): Promise<StreamConfig | undefined> {
  try {
    return (await handle.manager.streams.info(name)).config;
  } catch (error) {
    if (error instanceof JetStreamApiError && error.code === apiCode.streamNotFound) return undefined;
    throw error;
  }
}

async function addStream(handle: NatsConnectionHandle, config: NamedConfig): Promise<void> {
  try {
    await handle.manager.streams.add(config);
  } catch (cause) {
    if (cause instanceof JetStreamApiError && cause.code === apiCode.storageExceeded) {
      const need = `${config.max_bytes ?? 0} bytes`;
      throw new Error(
        `NATS has not enough storage for the stream ${config.name} (${need}); lower its size in the settings`,
        { cause },
      );
    }
    // Another pod may have just created it with other limits; the second check compares them.
    if (!(cause instanceof JetStreamApiError && cause.code === apiCode.streamNameInUse)) throw cause;
    await ensureStream(handle, config);
  }
}

function differs(existing: StreamConfig, wanted: NamedConfig): boolean {
  const settable = ["max_age", "max_bytes", "num_replicas", "duplicate_window", "subjects", "allow_msg_ttl"] as const;
  return settable.some((key) => wanted[key] !== undefined && String(existing[key]) !== String(wanted[key]));
}

function bucketOptions(layout: Layout, replicas: number): readonly (readonly [string, Partial<KvOptions>])[] {
  const { pods, partners, replays, idempotency, previews, ...others } = layout.buckets;
  const { disabledPartners, promotedPartners, pausedPartners, fullPartners } = others;
  const common = { replicas, history: 1, allow_direct: true };
  const marks = [disabledPartners, promotedPartners, pausedPartners, fullPartners, partners];
  return [
    [pods, { ...common, ttl: podHeartbeatAgeMs }],
    ...marks.map((name) => [name, common] as const),
    [replays, { ...common, ttl: replaysAgeMs }],
    [idempotency, { ...common, ttl: idempotencyAgeMs, max_bytes: idempotencyBytesMax }],
    [previews, { ...common, ttl: previewsAgeMs }],
  ];
}
