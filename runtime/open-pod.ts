// Acquires what a pod of several processes has once. It loads little, because the supervisor serves no requests.
import type { Logger } from "pino";
import type { NatsPlace } from "./main.ts";
import type { PodPlan } from "./processes/start-pod.ts";
import { dataFolderId, holdDataFolder, startEmbeddedNats } from "./program/data-folder.ts";
import type { Shutdown } from "./program/shutdown.ts";
import type { StandaloneOptions } from "./standalone.ts";

type StandalonePodOptions = Pick<StandaloneOptions, "dataFolder" | "nats" | "natsServer" | "log">;

/** A pod of `heliograph run`. @throws StartError `data`, `locked` */
export async function openStandalonePod(options: StandalonePodOptions, shutdown: Shutdown): Promise<PodPlan> {
  const { dataFolder, nats } = options;
  await holdDataFolder(dataFolder, shutdown);
  return {
    pod: "standalone",
    podId: `standalone-${await dataFolderId(dataFolder)}`,
    unreadyMs: 0,
    ...(nats === undefined ? { embeddedNats: (own) => startEmbeddedNats(options, own) } : {}),
  };
}

interface RuntimePodOptions {
  readonly nats: NatsPlace;
  readonly podName: string;
  readonly unreadyMs: number;
  readonly log: Logger;
}

/** A pod of `heliograph runtime`. @throws StartError `data`, `locked` */
export async function openRuntimePod(options: RuntimePodOptions, shutdown: Shutdown): Promise<PodPlan> {
  const { nats, podName, unreadyMs, log } = options;
  const plan = { pod: podName, podId: podName, unreadyMs };
  if (nats.kind === "server") return plan;
  await holdDataFolder(nats.dataFolder, shutdown);
  return { ...plan, embeddedNats: (own) => startEmbeddedNats({ ...nats, log }, own) };
}
