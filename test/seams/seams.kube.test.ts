import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { random } from "../runtime/metrics/oracle/generated-series.ts";
import { isSoak } from "../support/soak.ts";
import { waitFor } from "../support/wait.ts";
import { startInstallation, type Installation } from "./installation.ts";
import { checkWalk } from "./check-walk.ts";
import { Partners } from "./partners.ts";
import { startRecipient, type Recipient } from "./recipients.ts";
import { startTraffic } from "./traffic.ts";
import { startState } from "./walk.ts";
import { Walker } from "./walker.ts";
import { watchConfiguration } from "./watch-configuration.ts";
import { watchPublished } from "./watch-published.ts";
import { watchRouting } from "./watch-routing.ts";

const seed = Number(process.env["HELIOGRAPH_SEED"] ?? Math.floor(Math.random() * 2 ** 31));
const steps = Number(process.env["HELIOGRAPH_STEPS"] ?? (isSoak ? 2_000 : 100));
const eventsPerSecond = 50;
const paceMs = 100;
const settleMs = 60_000;
const drainMs = 60_000;
const waitingShownMax = 10;
/** Part of the pairs of existing partners that the configuration of their routing decides. */
const decidedShareMin = 0.8;
/** What a change keeps from being routed for a while, out of what the resources ask for. */
const owedShareMin = 0.5;

let installation: Installation;
const recipients: Recipient[] = [];
beforeAll(async () => {
  installation = await startInstallation();
  for (const { index } of startState().slots) recipients.push(await startRecipient(index));
}, 120_000);
afterAll(async () => {
  await installation.stop();
  await Promise.all(recipients.map((recipient) => recipient.close()));
}, 60_000);

test(
  `every accepted event is accounted for after a random walk of ${steps} steps, seed ${seed}`,
  { retry: 0, timeout: 120_000 + steps * 2_000 },
  async () => {
    process.stdout.write(`HELIOGRAPH_SEED=${seed} HELIOGRAPH_STEPS=${steps}\n`);
    const partners = new Partners(installation.cluster, recipients);
    const published = watchPublished(installation);
    for (const slot of startState().slots) await partners.make(slot, {});
    const configuration = watchConfiguration(installation, () => partners.all().filter(({ isGone }) => !isGone));
    const routing = await watchRouting(installation.nats.url);
    const isSettled = (): boolean => partners.all().every((timeline) => timeline.isSettled);
    await waitFor(isSettled, { timeoutMs: settleMs, what: "the first partners to be in force" });
    const urls = (): readonly string[] => installation.pods.map(({ url }) => url);
    const traffic = startTraffic({
      urls,
      token: installation.token,
      prefix: `w${seed}`,
      random: random(seed + 1),
      perSecond: eventsPerSecond,
    });
    const walker = new Walker(installation, partners, random(seed));
    for (let done = 0; done < steps; done += 1) {
      await walker.step();
      await sleep(paceMs);
    }
    await walker.mend();
    await traffic.stop();
    await waitFor(isSettled, { timeoutMs: settleMs, what: "every change to be in force" }).catch(() => undefined);
    const hasDrained = await waitFor(() => routing.waiting() === 0, {
      timeoutMs: drainMs,
      what: "no delivery to wait",
    }).catch(() => false);
    const report = await checkWalk({
      installation,
      partners,
      recipients,
      events: traffic.events,
      routing,
      published,
      log: walker.log,
    });
    await Promise.all([configuration.stop(), published.stop()]);
    process.stdout.write(`${JSON.stringify({ seed, steps: walker.counts(), ...report.counts }, null, 2)}\n`);
    const waiting = hasDrained ? [] : partners.namesIn((await routing.waitingSubjects()).slice(0, waitingShownMax));
    await routing.stop();
    if (report.text !== "") process.stdout.write(`${report.text}\n`);
    expect({ problems: [...report.problems, ...walker.problems], waiting }).toEqual({ problems: [], waiting: [] });
    expect(report.decidedShare).toBeGreaterThanOrEqual(decidedShareMin);
    // Each step lasts `paceMs` at least, and traffic goes on meanwhile.
    const eventsPerStep = (eventsPerSecond * paceMs) / 1_000;
    expect(report.owed).toBeGreaterThan(walker.demand * eventsPerStep * owedShareMin);
  },
);
