import { Session } from "node:inspector/promises";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { metricsServerOver, nowMs, simulated } from "../runtime/http/routes/metrics-server.ts";
import { healthyProbe, startScriptedStore } from "../runtime/stores/scripted-store.ts";
import { engineCase, partnerServer } from "../runtime/webhooks/engine-cases.ts";
import { configOf, eventBytes, partnerConfig } from "../runtime/webhooks/engine-fixture.ts";
import { startNatsServer } from "../support/nats-server.ts";
import { waitFor } from "../support/wait.ts";

/** Counts the files of the product that a request runs through, which is what a newcomer has to read. */

const root = fileURLToPath(new URL("../..", import.meta.url));
const timeoutMs = 20_000;
const idleMs = 1_500;
const coldIds = Array.from({ length: 8 }, (_, index) => `cold-${index}`);
const productFolders = /^(?:command-line|console|crds|kube|network|operator|runtime)\//u;

/** Most files on each path. They only fall: lower them with every change that merges files. */
const filesMax = { query: 133, delivery: 72 };

/** Files of the product with a function that ran since this was last asked. */
type Entered = () => Promise<ReadonlySet<string>>;

async function startCounting(): Promise<Entered> {
  const session = new Session();
  session.connect();
  onTestFinished(() => session.disconnect());
  await session.post("Profiler.enable");
  await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
  return async () => {
    const { result } = await session.post("Profiler.takePreciseCoverage");
    // A range from 0 is the module itself, which runs when it is imported.
    const ran = result.filter(({ functions }) =>
      functions.some(({ ranges: [range] }) => range !== undefined && range.startOffset > 0 && range.count > 0),
    );
    const files = ran.map(({ url }) => (url.startsWith("file:") ? fileURLToPath(url) : url));
    return new Set(files.filter((file) => productFolders.test(file.slice(root.length))));
  };
}

/** What some work enters that a pause of the same length does not. */
async function filesOf(entered: Entered, work: () => Promise<unknown>): Promise<number> {
  await entered();
  await new Promise((resolve) => setTimeout(resolve, idleMs));
  const idle = await entered();
  await work();
  return [...(await entered())].filter((file) => !idle.has(file)).length;
}

const say = (line: string): void => void process.stdout.write(`${line}\n`);

test("a cold query runs through a bounded number of files", async () => {
  const store = await startScriptedStore(healthyProbe(simulated(() => ({ services: ["warm", "cold"] }))));
  onTestFinished(() => store.close());
  const server = metricsServerOver({ eu: store.url }, { now: () => nowMs });
  onTestFinished(() => server.close());
  const ask = (service: string) =>
    server.get(
      `/v1/metrics/query?metric=lag&agg=max&filter[tenant]=brand-a&filter[service]=${service}&step=5m` +
        "&from=2026-01-01T06:00:00Z&to=2026-01-01T09:00:00Z",
    );
  expect((await ask("warm")).status).toBe(200);
  const count = await filesOf(await startCounting(), () => ask("cold"));
  say(`files on the path of a cold query: ${count} of at most ${filesMax.query}`);
  expect(count).toBeGreaterThan(20);
  expect(count).toBeLessThanOrEqual(filesMax.query);
});

test("a delivery runs through a bounded number of files", async (context) => {
  const nats = await startNatsServer();
  onTestFinished(() => nats.stop());
  const partner = await partnerServer(context);
  const engine = await engineCase(nats.url, context, configOf(partnerConfig("one", partner.url)));
  const deliver = async (id: string): Promise<void> => {
    await engine.ingest(eventBytes(id));
    const state = async () => (await engine.engine.history.event(id, ["*"]))?.deliveries[0]?.state === "delivered";
    await waitFor(state, { timeoutMs, what: `the end of ${id}` });
  };
  await deliver("warm");
  // Some files run only now and then, such as those of a batch that is full.
  const deliverAll = async (): Promise<void> => {
    for (const id of coldIds) await deliver(id);
  };
  const count = await filesOf(await startCounting(), deliverAll);
  say(`files on the path of a delivery, its history included: ${count} of at most ${filesMax.delivery}`);
  expect(count).toBeGreaterThan(20);
  expect(count).toBeLessThanOrEqual(filesMax.delivery);
});
