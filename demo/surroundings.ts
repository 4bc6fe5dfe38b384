import { execFile } from "node:child_process";
import { createWriteStream } from "node:fs";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { findPrograms, type SearchEnvironment } from "../runtime/nats/child/find-programs.ts";
import { startChild, type Child } from "./child-process.ts";
import { openMetrics } from "./series.ts";
import { type DemoPartner, partnerRoles, startPartner } from "./partners.ts";
import type { DemoStoreName } from "./series-families.ts";

/** As in `docs/examples/metric-catalog.yaml`. */
const storePorts = { eu: 19_091, latam: 19_092 } as const satisfies Record<DemoStoreName, number>;

const hourMs = 3_600_000;
const pastMs = 24 * hourMs;
/** Series continue for so long after the start. */
const aheadMs = 6 * hourMs;
const backfillMsMax = 180_000;
const readyMsMax = 60_000;
const pollMs = 100;
const fetchMsMax = 2_000;
/** The longest that promtool knows, since it reads its whole input again for every block. */
const blockDuration = "200h";

/** Prometheus and its promtool. */
interface StorePrograms {
  readonly prometheus: string;
  readonly promtool: string;
}

/** What must be stopped in the end, last started first. */
export type Stops = (() => Promise<unknown>)[];

interface SurroundingsOptions {
  /** Path of Prometheus, next to which promtool is. @default one of PATH */
  readonly prometheus: string | undefined;
  readonly environment: SearchEnvironment;
  /** Folder of all that the stores keep. */
  readonly folder: string;
  readonly signal: AbortSignal;
  readonly say: (line: string) => void;
}

/**
 * Starts the partners of the examples and their stores with a day of series; `stops` gets what ends them.
 * @throws Error with one sentence; the reason of the signal
 */
export async function startSurroundings(options: SurroundingsOptions, stops: Stops): Promise<readonly DemoPartner[]> {
  const { prometheus, environment, folder, signal, say } = options;
  const programs = await findStorePrograms(prometheus, environment);
  const partners: DemoPartner[] = [];
  for (const role of partnerRoles) {
    const partner = await startPartner(role);
    stops.push(() => partner.stop());
    partners.push(partner);
  }
  for (const store of Object.keys(storePorts) as DemoStoreName[]) {
    signal.throwIfAborted();
    say(`filling the store ${store} with one day of data`);
    const child = await startStore(programs, store, join(folder, "stores", store), signal);
    stops.push(() => child.stop());
  }
  return partners;
}

async function findStorePrograms(named: string | undefined, environment: SearchEnvironment): Promise<StorePrograms> {
  const [prometheus] = named === undefined ? await findPrograms("prometheus", "prometheus", environment) : [named];
  if (prometheus === undefined) {
    throw new Error(
      "prometheus was not found: put it and promtool on PATH (https://prometheus.io/download), name it with " +
        "--prometheus, or run npm run tools -- prometheus in a checkout",
    );
  }
  const sibling = { PATH: `${dirname(prometheus)}:${environment["PATH"] ?? ""}` };
  const [promtool] = await findPrograms("promtool", "prometheus", { ...environment, ...sibling });
  if (promtool === undefined) throw new Error(`promtool was not found next to ${prometheus}: add it to PATH`);
  return { prometheus, promtool };
}

async function startStore(
  programs: StorePrograms,
  store: DemoStoreName,
  folder: string,
  signal: AbortSignal,
): Promise<Child> {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const data = join(folder, "data");
  await backfill(programs.promtool, store, folder, signal);
  const config = join(folder, "prometheus.yml");
  await writeFile(config, "global: {}\n");
  const address = `127.0.0.1:${storePorts[store]}`;
  const log = join(folder, "prometheus.log");
  const flags = [`--config.file=${config}`, `--storage.tsdb.path=${data}`, `--web.listen-address=${address}`];
  const child = startChild(programs.prometheus, flags, log);
  try {
    await untilReady(`http://${address}/-/ready`, child);
  } catch (error) {
    await child.stop();
    throw new Error(`the store ${store} does not serve port ${storePorts[store]}; ${log} says why`, { cause: error });
  }
  return child;
}

async function backfill(promtool: string, store: DemoStoreName, folder: string, signal: AbortSignal): Promise<void> {
  const nowMs = Date.now();
  const [input, data] = [join(folder, "series.om"), join(folder, "data")];
  const samples = openMetrics({ store, startMs: nowMs - pastMs, endMs: nowMs + aheadMs });
  await pipeline(Readable.from(samples), createWriteStream(input), { signal });
  const args = ["tsdb", "create-blocks-from", "openmetrics", `--max-block-duration=${blockDuration}`, "--quiet"];
  await promisify(execFile)(promtool, [...args, input, data], { timeout: backfillMsMax, signal });
  await rm(input);
}

async function untilReady(url: string, child: Child): Promise<void> {
  const deadlineMs = performance.now() + readyMsMax;
  while (performance.now() < deadlineMs && !child.hasEnded()) {
    const response = await fetch(url, { signal: AbortSignal.timeout(fetchMsMax) }).catch(() => undefined);
    if (response?.ok === true && !child.hasEnded()) return;
    await sleep(pollMs);
  }
  throw new Error(child.hasEnded() ? "it ended" : `it is not ready after ${readyMsMax / 1000} s`);
}
