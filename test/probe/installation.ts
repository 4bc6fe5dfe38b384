import { mkdir, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { random } from "../runtime/metrics/oracle/generated-series.ts";
import { preparePod, type Pod } from "../seams/pods.ts";
import { startNatsServer, type NatsServerHandle } from "../support/nats-server.ts";
import { temporaryFolder } from "../support/temp-folder.ts";
import { makeIssuer, signToken } from "../support/tokens.ts";
import { catalogText, deadlineMs, limitedClient, quotasText, regions, type Region } from "./catalog.ts";
import { startProbedStore, type ProbedStore } from "./probed-store.ts";
import { createTimeline, createVersions, type Timeline, type Versions } from "./timeline.ts";

/** The product as callers meet it: two runtime pods over one NATS, in front of a store in each of three regions. */
export interface Installation {
  readonly stores: readonly ProbedStore[];
  readonly nats: NatsServerHandle;
  readonly pods: readonly Pod[];
  readonly tokens: Readonly<Record<"probe" | "limited", string>>;
  readonly timeline: Timeline;
  readonly catalogs: Versions;
  readonly quotas: Versions;
  /** Writes the next version of the catalog or of the quotas for both pods. */
  edit(file: "catalog" | "quotas"): Promise<void>;
  stop(): Promise<void>;
}

const tokenSeconds = 6 * 3_600;

/** Starts every server; each is ready. */
export async function startInstallation(seed: number): Promise<Installation> {
  const stops: (() => Promise<void>)[] = [];
  const stop = async (): Promise<void> => {
    for (const end of stops.splice(0).toReversed()) await end();
  };
  try {
    return { ...(await startAll(seed, stops)), stop };
  } catch (error) {
    await stop().catch(() => undefined);
    throw error;
  }
}

async function startAll(seed: number, stops: (() => Promise<void>)[]): Promise<Omit<Installation, "stop">> {
  const folder = await temporaryFolder("probe");
  stops.push(() => folder.remove());
  const stores = await Promise.all(regions.map((region, index) => startProbedStore(region, random(seed + index + 1))));
  stops.push(async () => void (await Promise.all(stores.map((store) => store.stop()))));
  const nats = await startNatsServer();
  stops.push(() => nats.stop());
  const config = join(folder.path, "config");
  await mkdir(config);
  const tokens = await writeSettings(folder.path);
  const [catalogs, quotas] = [createVersions(), createVersions()];
  const urls = Object.fromEntries(stores.map(({ region, url }) => [region, url])) as Record<Region, string>;
  const writers = {
    catalog: { versions: catalogs, text: (version: number) => catalogText(version, urls) },
    quotas: { versions: quotas, text: quotasText },
  };
  await writeFile(join(config, "catalog.yaml"), catalogText(0, urls));
  await writeFile(join(config, "quotas.yaml"), quotasText(0));
  const environment = {
    HELIOGRAPH_CONFIG: config,
    HELIOGRAPH_NATS: nats.url,
    HELIOGRAPH_SETTINGS: join(folder.path, "settings.json"),
    HELIOGRAPH_HOST: "127.0.0.1",
    HELIOGRAPH_UNREADY_SECONDS: "0",
    HELIOGRAPH_DRAIN_SECONDS: "2",
  };
  const pods = [await preparePod("probe-0", environment), await preparePod("probe-1", environment)];
  stops.push(async () => void (await Promise.all(pods.map((pod) => pod.end("SIGKILL")))));
  await Promise.all(pods.map((pod) => pod.start()));
  return {
    stores,
    nats,
    pods,
    tokens,
    timeline: createTimeline(),
    catalogs,
    quotas,
    async edit(file) {
      const { versions, text } = writers[file];
      await swap(config, `${file}.yaml`, text(versions.change()));
    },
  };
}

async function writeSettings(folder: string): Promise<Installation["tokens"]> {
  const issuer = await makeIssuer("https://issuer.example");
  await writeFile(join(folder, "keys.json"), JSON.stringify({ keys: [issuer.publicJwk] }));
  const settings = {
    issuers: [{ issuer: issuer.issuer, audiences: ["heliograph"], jwksFile: "keys.json" }],
    metrics: { deadlineMs },
  };
  await writeFile(join(folder, "settings.json"), JSON.stringify(settings));
  const exp = Math.floor(Date.now() / 1_000) + tokenSeconds;
  const sign = (sub: string): Promise<string> =>
    signToken(issuer, { iss: issuer.issuer, aud: "heliograph", sub, exp, scope: "metrics:read", tenants: ["*"] });
  return { probe: await sign("probe"), limited: await sign(limitedClient.id) };
}

/** Another file appears whole, as a mounted ConfigMap does. */
async function swap(folder: string, name: string, text: string): Promise<void> {
  await writeFile(join(folder, `.${name}.new`), text);
  await rename(join(folder, `.${name}.new`), join(folder, name));
}
