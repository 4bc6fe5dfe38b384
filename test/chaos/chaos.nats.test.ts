import { availableParallelism } from "node:os";
import { afterAll, beforeAll, expect, test } from "vitest";
import { random } from "../runtime/metrics/oracle/generated-series.ts";
import { startTraffic } from "../seams/traffic.ts";
import { waitFor } from "../support/wait.ts";
import { account, isLate, silencesOf, untilDrained } from "./account.ts";
import { conduct, conductedText } from "./conductor.ts";
import { startInstallation, type Installation } from "./installation.ts";
import { profiles } from "./partners.ts";

/** Length of a run; without it there is none (`make chaos`, `make soak`). */
const seconds = Number(process.env["HELIOGRAPH_CHAOS_SECONDS"] ?? 0);
const seed = Number(process.env["HELIOGRAPH_SEED"] ?? Math.floor(Math.random() * 2 ** 31));
/** The only faults of a run, such as `kill_pod,stop_pod`. @default all */
const verbs = process.env["HELIOGRAPH_CHAOS_VERBS"]?.split(",");
const eventsPerSecond = 60;
const warmMsMax = 60_000;
const warmDeliveries = 100;
/** Calm after which the accounts are closed, beyond the run itself. */
const closingMsMax = 900_000;
/** Runnable processes for each core, above which silences say more about the machine than about the product. */
const loadPerCoreMax = 3;

let installation: Installation | undefined;
beforeAll(async () => {
  if (seconds > 0) installation = await startInstallation();
}, 240_000);
afterAll(async () => installation?.stop(), 120_000);

test.skipIf(seconds === 0)(
  `every accepted event is accounted for after ${seconds} s of faults, seed ${seed}`,
  { retry: 0, timeout: seconds * 1_000 + closingMsMax },
  async () => {
    if (installation === undefined) throw new Error("the installation did not start");
    const { pods, partners, token, skipped, servers } = installation;
    const print = (text: string): void => void process.stdout.write(`${text}\n`);
    print(`HELIOGRAPH_SEED=${seed} HELIOGRAPH_CHAOS_SECONDS=${seconds}`);
    for (const sentence of skipped) print(sentence);
    const traffic = startTraffic({
      urls: () => pods.map(({ url }) => url),
      token,
      prefix: `c${seed}`,
      random: random(seed + 1),
      perSecond: eventsPerSecond,
    });
    const healthy = partners.filter(({ profile }) => profile.isHealthy === true);
    const isWarm = (): boolean => healthy.every(({ deliveredMs }) => deliveredMs.length >= warmDeliveries);
    await waitFor(isWarm, { timeoutMs: warmMsMax, what: "deliveries to healthy partners" });
    const startedMs = Date.now();
    const options = {
      partners: profiles.filter(({ isHealthy, isPaused }) => !isHealthy && !isPaused).map(({ name }) => name),
      canFillDisks: servers.canFillDisks,
      canStepClocks: pods.every(({ clock }) => clock !== undefined),
      ...(verbs === undefined ? {} : { verbs }),
    };
    const faults = await conduct(installation, options, random(seed), startedMs + seconds * 1_000);
    await traffic.stop();
    const evidence = { installation, events: traffic.events, faults };
    const waiting = await untilDrained(evidence);
    for (const pod of pods) await pod.scrapes.scrape();
    const { counts, problems } = await account(evidence);
    const silences = silencesOf(evidence);
    for (const past of faults) {
      const silence = silences.find((one) => one.past === past);
      const text = silence === undefined ? "" : `, ${silenceText(silence)}`;
      print(`${conductedText(past, startedMs)}${text}`);
    }
    print(JSON.stringify({ seed, waiting, ...counts }, null, 2));
    const late = silences.filter(isLate);
    const judged = late.filter(({ past }) => past.load <= availableParallelism() * loadPerCoreMax);
    for (const one of late) print(`late: ${silenceText(one)}, ${conductedText(one.past, startedMs)}`);
    expect(problems).toEqual([]);
    expect(judged.map((one) => `${silenceText(one)}, ${conductedText(one.past, startedMs)}`)).toEqual([]);
  },
);

function silenceText({ ms, addedMs }: { readonly ms: number; readonly addedMs: number }): string {
  return `silence ${ms} ms, ${addedMs} ms of it after the last election`;
}
