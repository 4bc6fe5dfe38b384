// Starts the whole product from a folder.
import { resolve } from "node:path";
import { allowAll } from "../../crds/policy.ts";
import type { Shutdown } from "./shutdown.ts";
import { FolderRecordFile } from "../config/folder/folder-record.ts";
import { FolderSource } from "../config/folder/folder-source.ts";
import type { FolderState } from "../config/folder/folder-state.ts";
import { retentionFaults, type Settings } from "../config/settings/settings.ts";
import { dataFolderId, holdDataFolder, startEmbeddedNats } from "./data-folder.ts";
import type { TrustedIssuer } from "../http/authentication/authenticate.ts";
import { devIssuerName, openDevIssuer } from "../http/authentication/dev-issuer.ts";
import type { NatsAccess } from "../nats/connection/nats-access.ts";
import { type Program, startProgram } from "./program.ts";
import type { Prepared, ProgramOptions } from "./program-plan.ts";
import { StartError, startStep } from "./start-error.ts";
import { folderLog } from "./config-log.ts";

interface StandaloneOptions extends ProgramOptions {
  /** Folder of the configuration. */
  readonly folder: string;
  /** Folder of all stored data. */
  readonly dataFolder: string;
  /** NATS to use instead of a child nats-server. */
  readonly nats?: NatsAccess;
  /** The nats-server program for the child. @default the first on PATH */
  readonly natsServer?: string;
}

/**
 * Runs the whole product on one folder of configuration: the same `compile`, runtime and API as in a cluster, with its
 * own nats-server and development issuer. Resolves when it is ready.
 * @returns undefined when `stopping` was aborted before
 * @throws StartError with one sentence for the operator
 */
export async function startStandalone(options: StandaloneOptions, stopping: AbortSignal): Promise<Program | undefined> {
  return startProgram(
    {
      ...options,
      pod: "standalone",
      prepare: (settings, shutdown) => prepare(options, settings, shutdown),
      waitsForNats: false,
      unreadyMs: 0,
    },
    stopping,
  );
}

async function prepare(
  options: StandaloneOptions,
  settings: Settings,
  shutdown: Shutdown,
): Promise<Prepared<FolderState>> {
  const { folder, dataFolder, nats, log } = options;
  await holdDataFolder(dataFolder, shutdown);
  const record = new FolderRecordFile(dataFolder);
  const open = () => FolderSource.open(folder, { policy: allowAll, record });
  const source = await startStep("folder", `the folder ${folder} cannot be read`, open);
  shutdown.add("folder", () => source.stop());
  rejectShortRetention(settings, source.current());
  return {
    openConfig: async () => source,
    logState: folderLog(log, settings.streams),
    natsAccess: async () => nats ?? startEmbeddedNats(options, shutdown),
    podId: `standalone-${await dataFolderId(dataFolder)}`,
    issuers: [await developmentIssuer(options)],
    dataFolder: resolve(dataFolder),
    configFolder: {
      path: resolve(folder),
      program: programName(process.env),
      fileOf: (partner) => source.current().files.get(partner),
    },
  };
}

/** How people start the program: npm sets the variable for what `npx` or a script of a package runs. */
export function programName({ npm_command: npm }: NodeJS.ProcessEnv): string {
  return npm === undefined ? "heliograph" : "npx heliograph";
}

function rejectShortRetention({ streams }: Settings, { config }: FolderState): void {
  const [fault] = retentionFaults(streams, config);
  if (fault !== undefined) throw new StartError("settings", `the settings delete stored messages too early: ${fault}`);
}

async function developmentIssuer({ dataFolder, log }: StandaloneOptions): Promise<TrustedIssuer> {
  const open = () => openDevIssuer(dataFolder);
  const development = await startStep("data", `the data folder ${dataFolder} cannot be used`, open);
  log.warn(
    { issuer: devIssuerName },
    "standalone: local development issuer trusted, tokens without a certificate binding accepted",
  );
  return development.trusted;
}
