import { Gauge, type Registry } from "prom-client";
import { ContentHash, digestOf } from "../../crds/compile/canonical-json.ts";
import type { ConfigzMark, ConfigzObserved, ConfigzShard } from "../../crds/configz.ts";
import type { ConfigState } from "../config/config-source.ts";
import type { PartHealth } from "../http/server/admin-server.ts";
import type { ConfigReport } from "../http/server/configz.ts";
import type { NatsConnectionHandle } from "../nats/connection/connect.ts";
import type { WebhookEngine } from "../webhooks/engine.ts";
import type { DisabledMark } from "../webhooks/partners/partner-holds.ts";
import { presentCatalogs } from "./config-log.ts";
import type { FailureOutcome } from "../webhooks/settlement/outcome.ts";

/** A configuration of any source; a folder adds its problems and warnings. */
type ProgramState = ConfigState & {
  readonly problems?: readonly unknown[];
  readonly warnings?: readonly { readonly message: string }[];
};

/** State behind health, readiness and `/configz`. Parts appear as they start. */
export interface ProgramStatus {
  /** Name under which this program reports. */
  readonly pod: string;
  readonly contentHash: ContentHash;
  /** Reason for which no configuration is applied yet. */
  waitingFor: string;
  applied: { readonly state: ProgramState; readonly at: Date } | undefined;
  /** A later configuration that could not be applied, with the reason. */
  rejected: { readonly state: ConfigState; readonly reason: string } | undefined;
  nats: Pick<NatsConnectionHandle, "isConnected"> | undefined;
  /** Reason for which there is no connection yet. */
  natsFault: string;
  /** Reason for which deliveries have not started. */
  engineFault: string;
  /** Streams that a start misses; undefined after it. */
  streamsFault: string | undefined;
  engine:
    | (Pick<WebhookEngine, "health"> & Partial<Pick<WebhookEngine, "endpointValidations" | "streamsLoss">>)
    | undefined;
  /** Marks of every pod, also those that an edit has lifted since. */
  disabled: readonly DisabledMark[];
  /** The catalogs that this pod compared with their stores. */
  observed: () => readonly ConfigzObserved[];
  draining: boolean;
}

/** The status of a program that is about to start. */
export function startingStatus(pod: string): ProgramStatus {
  return {
    pod,
    contentHash: new ContentHash(),
    waitingFor: "not applied",
    applied: undefined,
    rejected: undefined,
    nats: undefined,
    natsFault: "not connected",
    engineFault: "not started",
    streamsFault: undefined,
    engine: undefined,
    disabled: [],
    observed: () => [],
    draining: false,
  };
}

/** Every part with its fault; the program is ready when all are healthy. */
export function healthOf({
  applied,
  waitingFor,
  nats,
  natsFault,
  engine,
  engineFault,
  streamsFault,
  draining,
}: ProgramStatus): readonly PartHealth[] {
  const part = (name: string, ok: boolean, detail: string): PartHealth => ({ name, ok, ...(ok ? {} : { detail }) });
  const streamsLoss = engine === undefined ? streamsFault : engine.streamsLoss;
  const webhooks = engine?.health() ?? { ok: false, detail: engineFault };
  return [
    part("process", !draining, "draining"),
    part("config", applied !== undefined, waitingFor),
    part("nats", nats?.isConnected() === true, nats === undefined ? natsFault : "not connected"),
    part("streams", streamsLoss === undefined, streamsLoss ?? ""),
    part("webhooks", webhooks.ok, webhooks.detail ?? "not well"),
  ];
}

const versionHexChars = 16;

/** Registers gauges of the pod's health, computed at each scrape. */
export function registerHealthMetrics(registry: Registry, health: () => readonly PartHealth[]): void {
  const registers = [registry];
  const ready: Gauge = new Gauge({
    registers,
    name: "heliograph_pod_ready",
    help: "1 while the pod is ready, as /readyz reports it.",
    collect: () => ready.set(health().every(({ ok }) => ok) ? 1 : 0),
  });
  const healthy = new Gauge({
    registers,
    name: "heliograph_part_healthy",
    help: "1 while a part of the pod is healthy; /readyz has the details.",
    labelNames: ["part"] as const,
    collect: () => {
      healthy.reset();
      for (const { name, ok } of health()) healthy.set({ part: name }, ok ? 1 : 0);
    },
  });
}

/** Report of `/configz`. Its version is a digest of the rest. */
export function reportOf(status: ProgramStatus): ConfigReport {
  const { applied, pod } = status;
  const report = {
    pod,
    ready: healthOf(status).every(({ ok }) => ok),
    hash: applied?.state.hash ?? null,
    content_hash: applied === undefined ? null : status.contentHash.of(applied.state.config),
    shards: shardsOf(status),
    errors: applied?.state.errors ?? [],
    marks: [...disabledMarks(status), ...validationMarks(status)],
    observed: status.observed(),
    applied_at: applied?.at.toISOString() ?? null,
    ...figuresOf(applied?.state),
  };
  return { version: digestOf(report).slice(0, versionHexChars), ...report };
}

type Figures = Pick<ConfigReport, "partners" | "catalogs" | "quotas" | "event_catalogs" | "problems" | "warnings">;

/** Warnings in a report. */
const warningsMax = 100;

const noFigures: Figures = { partners: 0, catalogs: 0, quotas: 0, event_catalogs: 0, problems: 0, warnings: [] };

function figuresOf(state: ProgramState | undefined): Figures {
  if (state === undefined) return noFigures;
  const { config, problems, errors = [], warnings = [] } = state;
  const { partners, catalogs, quotas, eventCatalogs = [] } = config;
  return {
    partners: partners.length,
    catalogs: catalogs.length,
    quotas: quotas.length,
    event_catalogs: presentCatalogs(eventCatalogs).length,
    // A folder counts everything that is not applied as written, files included.
    problems: problems?.length ?? errors.length,
    warnings: warnings.slice(0, warningsMax).map(({ message }) => message),
  };
}

/** The applied shards. A later shard that could not be applied has its error. */
function shardsOf({ applied, rejected }: ProgramStatus): Readonly<Record<string, ConfigzShard>> {
  const shards = applied?.state.shards ?? {};
  if (rejected === undefined) return shards;
  const error = `cannot be applied: ${rejected.reason}`;
  return Object.fromEntries(
    Object.entries(shards).map(([name, shard]) => {
      const isApplied = rejected.state.shards?.[name]?.sha256 === shard.sha256;
      return [name, isApplied ? shard : { ...shard, error }];
    }),
  );
}

/** Marks of specifications that are applied now. Another specification has lifted its mark. */
function disabledMarks({ applied, disabled }: ProgramStatus): readonly ConfigzMark[] {
  // A report is made four times a second while the operator waits for the next one.
  if (disabled.length === 0) return [];
  const current = new Set(applied?.state.config.partners.map(({ uid, specDigest }) => `${uid} ${specDigest}`));
  return disabled
    .filter(({ uid, specDigest }) => current.has(`${uid} ${specDigest}`))
    .map(({ namespace, name, uid, generation, at }) => ({
      kind: "WebhookPartner",
      namespace,
      name,
      uid,
      generation,
      reason: "PartnerDisabled",
      message: "The endpoint responded with 410, so deliveries are disabled until the specification changes.",
      since: at,
    }));
}

function validationMarks({ engine }: ProgramStatus): readonly ConfigzMark[] {
  return (engine?.endpointValidations?.() ?? []).map(
    ({ partner: { namespace, name, uid, generation }, failure, sinceMs }) => ({
      kind: "WebhookPartner",
      namespace,
      name,
      uid,
      generation,
      ...validationResult(failure),
      since: new Date(sinceMs).toISOString(),
    }),
  );
}

function validationResult(failure: FailureOutcome | undefined): Pick<ConfigzMark, "reason" | "message"> {
  if (failure === undefined)
    return { reason: "Verified", message: "The endpoint responded to the validation request and accepts deliveries." };
  const { reason, detail } = failure;
  return reason === "consent"
    ? { reason: "ConsentRefused", message: `Nothing is sent: ${detail}.` }
    : { reason: "ConsentUnanswered", message: `Nothing is sent: ${reason}, ${detail}.` };
}
