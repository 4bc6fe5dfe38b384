import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { preparePod, type Pod } from "../seams/pods.ts";
import { temporaryFolder } from "../support/temp-folder.ts";
import { makeIssuer, signToken } from "../support/tokens.ts";
import { buildClockLibrary, createClock, type SteppedClock } from "./clock.ts";
import { podCount } from "./faults.ts";
import { startPartners, type Partner } from "./partners.ts";
import { startScrapes, type Scrapes } from "./scrapes.ts";
import { startServers, type Servers } from "./servers.ts";

/** A pod with its clock and the scrapes of its metrics. */
export interface ChaosPod extends Pod {
  readonly clock: SteppedClock | undefined;
  readonly scrapes: Scrapes;
}

/** Three nats-servers, three pods and eight partners. */
export interface Installation {
  readonly servers: Servers;
  readonly pods: readonly ChaosPod[];
  readonly partners: readonly Partner[];
  /** A token that may post events of every tenant and read all of their history. */
  readonly token: string;
  /** Why a kind of fault is left out, in sentences. */
  readonly skipped: readonly string[];
  stop(): Promise<void>;
}

/** Longer than a run and its reads. */
const tokenSeconds = 24 * 3_600;

/** Starts everything; all of it is ready. */
export async function startInstallation(): Promise<Installation> {
  const stops: (() => Promise<void>)[] = [];
  const stop = async (): Promise<void> => {
    for (const end of stops.splice(0).toReversed()) await end();
  };
  try {
    return { ...(await startAll(stops)), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function startAll(stops: (() => Promise<void>)[]): Promise<Omit<Installation, "stop">> {
  const folder = await temporaryFolder("chaos");
  stops.push(() => folder.remove());
  const servers = await startServers(folder.path);
  stops.push(() => servers.stop());
  const config = join(folder.path, "config");
  await mkdir(config);
  const started = await startPartners(config);
  const { partners } = started;
  stops.push(() => started.close());
  const token = await writeSettings(folder.path);
  const library = await buildClockLibrary(folder.path);
  const pods: ChaosPod[] = [];
  for (let index = 0; index < podCount; index += 1) {
    const name = `pod-${index}`;
    const clock = library.path === undefined ? undefined : await createClock(folder.path, library.path, name);
    const pod = await preparePod(name, {
      HELIOGRAPH_CONFIG: config,
      HELIOGRAPH_NATS: servers.url,
      HELIOGRAPH_SETTINGS: join(folder.path, "settings.json"),
      HELIOGRAPH_HOST: "127.0.0.1",
      HELIOGRAPH_UNREADY_SECONDS: "0",
      HELIOGRAPH_LOG_LEVEL: "warn",
      ...clock?.environment,
    });
    stops.push(() => pod.end("SIGKILL"));
    const scrapes = startScrapes(`${pod.adminUrl}/metrics`);
    stops.push(() => scrapes.stop());
    pods.push({ ...pod, clock, scrapes });
  }
  await Promise.all(pods.map((pod) => pod.start()));
  const skipped = [
    ...(servers.canFillDisks ? [] : ["SKIPPED: a full disk needs the right to mount small file systems"]),
    ...(library.path === undefined
      ? [`SKIPPED: steps of clocks need cc and a preloaded library: ${library.reason}`]
      : []),
  ];
  return { servers, pods, partners, token, skipped };
}

/** Writes the settings of the pods and returns a token of their issuer. */
async function writeSettings(folder: string): Promise<string> {
  const issuer = await makeIssuer("https://issuer.example");
  await writeFile(join(folder, "keys.json"), JSON.stringify({ keys: [issuer.publicJwk] }));
  const issuers = [{ issuer: issuer.issuer, audiences: ["heliograph"], jwksFile: "keys.json" }];
  await writeFile(join(folder, "settings.json"), JSON.stringify({ issuers, streams: { replicas: 3 } }));
  const scope = "events:write webhooks:read";
  const exp = Math.floor(Date.now() / 1_000) + tokenSeconds;
  return signToken(issuer, { iss: issuer.issuer, aud: "heliograph", sub: "chaos", exp, scope, tenants: ["*"] });
}
