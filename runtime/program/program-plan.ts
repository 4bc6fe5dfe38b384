import type { Logger } from "pino";
import type { Registry } from "prom-client";
import type { CacheBytes } from "../../limits/memory-plan.ts";
import type { ConfigSource, ConfigState } from "../config/config-source.ts";
import type { Settings } from "../config/settings/settings.ts";
import type { TrustedIssuer } from "../http/authentication/authenticate.ts";
import type { RequestOutcome } from "../http/server/request-log.ts";
import type { NatsAccess } from "../nats/connection/nats-access.ts";
import type { StreamRecord } from "../nats/streams/stream-identities.ts";
import type { Tracer } from "../tracing/tracer.ts";
import type { ConfigFolder } from "../webhooks/partners/partner.ts";
import type { ConfigReporter } from "./config-report.ts";
import type { Expirations } from "./expirations.ts";
import type { StateLog } from "./follow-config.ts";
import type { Shutdown } from "./shutdown.ts";
import type { ProgramStatus } from "./status.ts";

/** Options of every entry point. */
export interface ProgramOptions {
  /** Address of both ports. */
  readonly host: string;
  /** 0 picks a free one. */
  readonly port: number;
  /** 0 picks a free one. */
  readonly adminPort: number;
  readonly settingsFile?: string;
  /** Sizes of the caches. */
  readonly caches: CacheBytes;
  /** Export of spans. @default none are made */
  readonly tracing?: TracingOptions | undefined;
  readonly log: Logger;
}

/** Where spans go, and how many. */
export interface TracingOptions {
  /** Base URL of a collector that takes OTLP over HTTP. */
  readonly endpoint: string;
  /** Share of the traces without a caller's that are sampled, from 0 to 1. */
  readonly ratio: number;
  /** Name of the program in traces. */
  readonly service: string;
}

/** A program of one entry point, before its settings are read. */
interface CommonPlan extends ProgramOptions {
  /** Name of the program in its reports. */
  readonly pod: string;
  /** True when the start waits for NATS. Otherwise a NATS that is away ends it. */
  readonly waitsForNats: boolean;
  /** Time for which requests are still answered after the stop request, while `/readyz` returns 503. */
  readonly unreadyMs: number;
}

/** Start of the product by one entry point. */
export interface ProgramPlan<State extends ConfigState> extends CommonPlan {
  /** Acquires what must exist before all parts: locks, folders, credentials. @throws StartError */
  readonly prepare: (settings: Settings, shutdown: Shutdown) => Promise<Prepared<State>>;
}

interface PreparedParts {
  readonly natsAccess: () => Promise<NatsAccess>;
  /** Unique among the pods. Best the same after a restart, so that the pod owns the same lanes again. */
  readonly podId: string;
  /** Trusted issuers besides those of the settings. */
  readonly issuers: readonly TrustedIssuer[];
  /** Folder whose key signs the tokens of `heliograph open`. @default no command of this machine makes tokens */
  readonly dataFolder?: string;
  /** Folder of the configuration. @default the configuration is in a cluster */
  readonly configFolder?: ConfigFolder;
  /** The streams as they are kept outside NATS. @default the pods alone remember them */
  readonly streamRecord?: StreamRecord;
}

/** Start of the parts that differ between entry points. */
export interface Prepared<State extends ConfigState> extends PreparedParts {
  /** Resolves with a source that holds a configuration; the wait has no bound. @throws StartError */
  readonly openConfig: (context: OpenContext) => Promise<ConfigSource<State>>;
  /** Logs the outcome of a configuration. */
  readonly logState: StateLog<State>;
}

interface OpenContext {
  readonly registry: Registry;
  /** Receives one sentence about what the configuration waits for. */
  readonly onWaiting: (detail: string) => void;
  /** Aborted when the start is given up. */
  readonly stopping: AbortSignal;
}

/** Shared by the parts of one running program. */
export interface ProgramContext {
  readonly plan: CommonPlan;
  readonly settings: Settings;
  readonly prepared: PreparedParts;
  readonly shutdown: Shutdown;
  readonly registry: Registry;
  readonly tracer: Tracer | undefined;
  readonly observe: (outcome: RequestOutcome) => void;
  readonly status: ProgramStatus;
  readonly reporter: ConfigReporter;
  readonly expirations: Expirations;
  readonly stopping: AbortSignal;
}
