import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { random } from "../runtime/metrics/oracle/generated-series.ts";
import { isSoak } from "../support/soak.ts";
import { waitFor } from "../support/wait.ts";
import { startInstallation } from "./installation.ts";
import { checkWalk } from "./check-walk.ts";
import { Catalogs } from "./catalogs.ts";
import { Partners } from "./partners.ts";
import { startRecipient } from "./recipients.ts";
import { startTraffic } from "./traffic.ts";
import { startState } from "./walk.ts";
import { Walker } from "./walker.ts";
import { watchConfiguration } from "./watch-configuration.ts";
import { watchPublished } from "./watch-published.ts";
import { watchRouting } from "./watch-routing.ts";

/** A short walk with nearly every sort of edit, the same each time. */
const fixedWalk = { seed: 3_517, steps: 50 };
const { HELIOGRAPH_SEED: givenSeed, HELIOGRAPH_STEPS: givenSteps } = process.env;
const drawnWalk = {
  seed: Number(givenSeed ?? Math.floor(Math.random() * 2 ** 31)),
  steps: Number(givenSteps ?? (isSoak ? 2_000 : 100)),
};
const walks = givenSeed === undefined && !isSoak ? [fixedWalk, drawnWalk] : [drawnWalk];
const eventsPerSecond = 50;
const paceMs = 100;
const settleMs = 60_000;
const drainMs = 60_000;
const waitingShownMax = 10;
/** Part of the pairs of existing partners and of the deliveries that have one right outcome. */
const decidedShareMin = 0.8;
/** The same of responses. They name no configuration, so that edits leave them open until both pods have them. */
const decidedResultsMin = 0.5;
/** What a change keeps from being routed for a while, out of what the resources ask for. */
const owedShareMin = 0.5;

const startMs = 120_000;
/** Of a step, with the servers that come and go. */
const stepMsMax = 2_000;
const timeoutMs = startMs + Math.max(...walks.map(({ steps }) => steps)) * stepMsMax;

test.for(walks)(
  "every accepted event is accounted for after a random walk of $steps steps, seed $seed",
  { retry: 0, timeout: timeoutMs },
  async ({ seed, steps }, { onTestFinished }) => {
    const installation = await startInstallation();
    onTestFinished(() => installation.stop());
    const recipients = await Promise.all(startState().slots.map(({ index }) => startRecipient(index)));
    onTestFinished(async () => void (await Promise.all(recipients.map((recipient) => recipient.close()))));
    process.stdout.write(`HELIOGRAPH_SEED=${seed} HELIOGRAPH_STEPS=${steps}\n`);
    const partners = new Partners(installation.cluster, recipients);
    const catalogs = new Catalogs(installation.cluster, startState().catalogs);
    const published = watchPublished(installation);
    for (const slot of startState().catalogs) await catalogs.make(slot);
    for (const slot of startState().slots) await partners.make(slot, {});
    const configuration = watchConfiguration(installation, {
      partners: () => partners.all().filter(({ isGone }) => !isGone),
      catalogs: catalogs.timelines,
    });
    const routing = await watchRouting(installation.nats.url);
    const isSettled = (): boolean => [...partners.all(), ...catalogs.timelines].every((one) => one.isSettled);
    await waitFor(isSettled, { timeoutMs: settleMs, what: "the first partners and catalogs to be in force" });
    const urls = (): readonly string[] => installation.pods.map(({ url }) => url);
    const traffic = startTraffic({
      urls,
      token: installation.token,
      prefix: `w${seed}`,
      random: random(seed + 1),
      perSecond: eventsPerSecond,
    });
    const walker = new Walker({ installation, partners, catalogs }, random(seed));
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
      catalogs,
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
    for (const share of [report.decidedShare, report.decidedTexts])
      expect(share).toBeGreaterThanOrEqual(decidedShareMin);
    expect(report.decidedResults).toBeGreaterThanOrEqual(decidedResultsMin);
    // Each step lasts `paceMs` at least, and traffic goes on meanwhile.
    const eventsPerStep = (eventsPerSecond * paceMs) / 1_000;
    expect(report.owed).toBeGreaterThan(walker.demand * eventsPerStep * owedShareMin);
  },
);
