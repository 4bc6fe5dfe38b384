import { hash } from "node:crypto";
import { classDefaults } from "../../../crds/compile/class-defaults.ts";
import type { PartnerConfig, RuntimeConfig } from "../../../crds/config.ts";
import { defaultSettings } from "../../../runtime/config/settings/settings-schema.ts";
import type { Settings } from "../../../runtime/config/settings/settings.ts";
import { connectNats, type NatsConnectionHandle } from "../../../runtime/nats/connection/connect.ts";
import type { NatsAccess } from "../../../runtime/nats/connection/nats-access.ts";
import type { Log } from "../../../runtime/webhooks/log.ts";
import { partnerKey } from "../../../runtime/webhooks/ids.ts";
import { assignLanes } from "../../../runtime/webhooks/partners/partner.ts";
import { createWebhookEngine, type WebhookEngine } from "../../../runtime/webhooks/engine.ts";
import type { WebhookEngineDeps } from "../../../runtime/webhooks/engine-context.ts";

/** Key that every partner of a test signs with. */
export const testSecret = Buffer.from("a key of at least thirty-two bytes, for tests only");

const materialId = "default/partner-key/secret";

/** What a partner of a test may say about itself. */
export type PartnerOverrides = Partial<
  Pick<
    PartnerConfig,
    | "subscriptions"
    | "retry"
    | "state"
    | "delivery"
    | "circuitBreaker"
    | "deadLetterSeconds"
    | "signing"
    | "held"
    | "waitsSinceMs"
    | "waitsLonger"
    | "withdrawn"
  >
> & {
  readonly timeoutMs?: number;
  readonly uid?: string;
};

/** A partner that wants everything, at a loopback URL. */
export function partnerConfig(name: string, url: string, overrides: PartnerOverrides = {}): PartnerConfig {
  const { timeoutMs = 2_000, uid = `uid-of-${name}`, ...rest } = overrides;
  const spec = {
    endpoint: { url, timeoutMs, headers: {}, idempotencyMs: 86_400_000 },
    signing: { scheme: "HmacV1" as const, keys: [{ id: "k1", material: materialId }] },
    subscriptions: [{ name: "all", types: ["**"], tenants: ["*"], producers: [] }],
    delivery: { maxInFlight: 64 },
    retry: { scheduleSeconds: [1, 1, 1], maxAgeSeconds: 3_600, jitterPercent: 0 },
    networks: { allowCidrs: ["127.0.0.0/8"], allowPlaintext: true },
    state: "Active" as const,
    ...rest,
  };
  const specDigest = hash("sha256", JSON.stringify(spec), "hex");
  return { uid, namespace: "default", name, generation: 1, specDigest, ...spec };
}

/** Names of partners that all share this lane when they have none of their own. */
export function namesInLane(lane: string, count: number): readonly string[] {
  const isIn = (name: string): boolean => {
    const key = partnerKey(`uid-of-${name}`);
    return assignLanes([key], new Set(), 0).get(key)?.lane === lane;
  };
  const names: string[] = [];
  for (let n = 0; names.length < count; n += 1) if (isIn(`p-${n}`)) names.push(`p-${n}`);
  return names;
}

/** A configuration of partners only. */
export function configOf(...partners: readonly PartnerConfig[]): RuntimeConfig {
  return {
    schema: 1,
    partners,
    catalogs: [],
    quotas: [],
    classDefaults,
    material: { [materialId]: testSecret.toString("base64") },
  };
}

const mebibyteBytes = 1024 * 1024;

/** Settings with streams small enough for any disk. */
export const testSettings: Settings = {
  ...defaultSettings,
  streams: {
    ...defaultSettings.streams,
    events: { maxAgeSeconds: 3_600, maxBytes: 64 * mebibyteBytes },
    deliveries: { maxBytes: 64 * mebibyteBytes },
    attempts: { maxAgeSeconds: 3_600, maxBytes: 64 * mebibyteBytes },
    deadLetters: { maxAgeSeconds: 3_600, maxBytes: 64 * mebibyteBytes },
  },
};

/** Test settings whose streams have names of their own. */
export function streamsOf(
  prefix: string,
  delivery = testSettings.delivery,
  replicas = testSettings.streams.replicas,
): Settings {
  return { ...testSettings, delivery, streams: { ...testSettings.streams, prefix, replicas } };
}

/** Bytes of a valid event. */
export function eventBytes(eventId: string, fields: Readonly<Record<string, unknown>> = {}): Buffer {
  const event = {
    event_id: eventId,
    type: "payout.processed",
    version: "2026-01-01",
    ts: "2026-01-01T00:00:00.000Z",
    tenant: "acme",
    data: { payout_id: "p-1", amount_minor: 1050, currency: "EUR" },
    ...fields,
  };
  return Buffer.from(JSON.stringify(event));
}

/** What a log was told. */
export interface LogLine {
  readonly level: "info" | "warn" | "error";
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** A log that remembers. */
export function memoryLog(): { readonly log: Log; readonly lines: readonly LogLine[] } {
  const lines: LogLine[] = [];
  const at =
    (level: LogLine["level"]) =>
    (fields: unknown, message?: string): void => {
      lines.push({ level, message: message ?? String(fields), fields: fields as LogLine["fields"] });
    };
  return { log: { info: at("info"), warn: at("warn"), error: at("error") }, lines };
}

/** Dependencies that a test replaces. */
export interface EngineOverrides extends Partial<WebhookEngineDeps> {
  /** Clock of the machine, Unix milliseconds. @default Date.now */
  readonly now?: (() => number) | undefined;
}

/** An engine with a connection of its own. */
export interface TestEngine {
  readonly engine: WebhookEngine;
  readonly nats: NatsConnectionHandle;
  readonly lines: readonly LogLine[];
  /** Brings an event as a caller of every tenant. */
  readonly ingest: (bytes: Uint8Array) => ReturnType<WebhookEngine["ingest"]>;
  readonly stop: () => Promise<void>;
}

const drainMs = 2_000;

/** Starts an engine. */
export async function startEngine(
  access: string | NatsAccess,
  config: RuntimeConfig,
  { now, ...overrides }: EngineOverrides = {},
): Promise<TestEngine> {
  const servers = typeof access === "string" ? { servers: [access] } : access;
  const nats = overrides.nats ?? (await connectNats(servers, now));
  const { log, lines } = memoryLog();
  const deps = { nats, settings: testSettings, config, log, podId: "pod-1", ...overrides };
  const engine = await createWebhookEngine(deps);
  return {
    engine,
    nats,
    lines,
    ingest: (bytes) => engine.ingest(bytes, { tenants: ["*"] }),
    stop: async () => {
      await engine.stop(drainMs);
      await nats.drain();
    },
  };
}
