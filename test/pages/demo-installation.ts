import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { partnerRoles, startPartner } from "../../demo/partners.ts";
import { openMetrics } from "../../demo/series.ts";
import type { DemoStoreName } from "../../demo/series-families.ts";
import { freePort } from "../support/free-port.ts";
import { startProgram } from "../support/heliograph-process.ts";
import { startPrometheus, type PrometheusHandle } from "../support/prometheus.ts";
import { temporaryFolder } from "../support/temp-folder.ts";
import { resolveTool } from "../tools/resolve.ts";

/** The product with the resources of docs/examples and stores that hold some hours of their series. */
export interface DemoInstallation {
  readonly url: string;
  /** Folder of stored data, which holds the key of the development issuer. */
  readonly data: string;
  /** Runs `work` while a store of docs/examples is away, as after a crash; then starts the store again. */
  readonly withoutStore: (store: DemoStoreName, work: () => Promise<void>) => Promise<void>;
  stop(): Promise<void>;
}

const examples = fileURLToPath(new URL("../../docs/examples", import.meta.url));
const hourMs = 3_600_000;
/** Longer than the two hours that are counted in points; storing an hour of series takes seconds. */
const pastHoursUsual = 2.25;
/** What an installation has besides the examples. */
export interface DemoInstallationOptions {
  /** Text of a settings file. @default the program runs without one */
  readonly settings?: string;
  /** Text of a file of resources besides the examples. @default none */
  readonly resources?: string;
  /** @default a free port */
  readonly port?: number;
  /** Hours of series in the stores. @default 2.25 */
  readonly pastHours?: number;
}

/** For as long as a slow machine may take. */
const aheadMs = hourMs / 4;
/** Where docs/examples looks for its stores. */
const documentedStores = { eu: "http://127.0.0.1:19091", latam: "http://127.0.0.1:19092" } as const;

/** Addresses in docs/examples, and those of this installation in their place. */
type Moved = ReadonlyMap<string, string>;

/** Starts it, its stores and its partners. */
export async function startDemoInstallation(options: DemoInstallationOptions = {}): Promise<DemoInstallation> {
  const { settings, port = 0, pastHours = pastHoursUsual } = options;
  const folder = await temporaryFolder("page");
  const stops: (() => Promise<unknown>)[] = [() => folder.remove()];
  const stop = async (): Promise<void> => {
    for (const end of stops.toReversed()) await end();
  };
  try {
    const stores = await startStores(stops, pastHours * hourMs);
    const storeUrls = Object.entries(documentedStores).map(([store, documented]) => {
      return [documented, stores[store as DemoStoreName].url] as const;
    });
    const moved: Moved = new Map([...storeUrls, ...(await startPartners(stops))]);
    const resources = join(folder.path, "resources");
    const data = join(folder.path, "data");
    await copyExamples(resources, moved);
    if (options.resources !== undefined) await writeFile(join(resources, "more.yaml"), options.resources);
    const natsServer = await resolveTool("nats-server");
    const settingsFile = join(folder.path, "settings.yaml");
    if (settings !== undefined) await writeFile(settingsFile, settings);
    const own = settings === undefined ? [] : ["--settings", settingsFile];
    const flags = [...own, `--port=${port}`, "--admin-port=0", "--data", data, "--nats-server", natsServer];
    const program = startProgram(["run", resources, ...flags]);
    stops.push(async () => {
      program.signal("SIGTERM");
      await program.ended();
    });
    const withoutStore = (store: DemoStoreName, work: () => Promise<void>): Promise<void> =>
      whileAway(stores[store], work);
    return { url: (await program.ready()).url, data, withoutStore, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

type DemoStores = Readonly<Record<DemoStoreName, PrometheusHandle>>;

async function startStores(stops: (() => Promise<unknown>)[], pastMs: number): Promise<DemoStores> {
  const nowMs = Date.now();
  const start = async (store: DemoStoreName): Promise<PrometheusHandle> => {
    const samples = openMetrics({ store, startMs: nowMs - pastMs, endMs: nowMs + aheadMs });
    const prometheus = await startPrometheus({ openMetrics: samples });
    stops.push(() => prometheus.stop());
    return prometheus;
  };
  const started = [start("eu"), start("latam")] as const;
  // A store that starts beside one that fails has to be known to `stops` first.
  await Promise.allSettled(started);
  const [eu, latam] = await Promise.all(started);
  return { eu, latam };
}

async function whileAway(store: PrometheusHandle, work: () => Promise<void>): Promise<void> {
  await store.kill9();
  try {
    await work();
  } finally {
    await store.restart();
  }
}

async function startPartners(stops: (() => Promise<unknown>)[]): Promise<Moved> {
  const moved = new Map<string, string>();
  for (const role of partnerRoles) {
    const partner = await startPartner({ ...role, port: await freePort() });
    stops.push(() => partner.stop());
    moved.set(`http://127.0.0.1:${role.port}`, partner.url);
  }
  return moved;
}

async function copyExamples(folder: string, moved: Moved): Promise<void> {
  await mkdir(folder);
  for (const name of (await readdir(examples)).filter((file) => file.endsWith(".yaml"))) {
    const text = await readFile(join(examples, name), "utf8");
    const here = [...moved].reduce((known, [documented, url]) => known.replace(documented, url), text);
    await writeFile(join(folder, name), here);
  }
}
