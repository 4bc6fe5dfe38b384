import type { Logger } from "pino";
import type { Registry } from "prom-client";
import type { ConfigSource, ConfigState } from "../config/config-source.ts";
import type { Settings } from "../config/settings/settings.ts";
import type { TrustedIssuer } from "../http/authentication/authenticate.ts";
import type { RequestOutcome } from "../http/server/request-metrics.ts";
import type { NatsAccess } from "../nats/connection/connect.ts";
import type { ConfigReporter } from "./config-report.ts";
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
  readonly log: Logger;
}

/** A program of one entry point, before its settings are read. */
interface CommonPlan extends ProgramOptions {
  /** Name of the program in its reports. */
  readonly pod: string;
  /** True when the start waits for NATS. Otherwise a NATS that is away ends it. */
  readonly waitsForNats: boolean;
  /** Time for which requests are still answered after the stop request, while `/readyz` answers 503. */
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
  readonly observe: (outcome: RequestOutcome) => void;
  readonly status: ProgramStatus;
  readonly reporter: ConfigReporter;
  readonly stopping: AbortSignal;
}
