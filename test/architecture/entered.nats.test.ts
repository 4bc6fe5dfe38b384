import { Session } from "node:inspector/promises";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { metricsServerOver, nowMs, simulated } from "../runtime/http/routes/metrics-server.ts";
import { healthyProbe, startScriptedStore } from "../runtime/stores/scripted-store.ts";
import { engineCase, partnerServer } from "../runtime/webhooks/engine-cases.ts";
import { configOf, eventBytes, partnerConfig } from "../runtime/webhooks/engine-fixture.ts";
import { startNatsServer } from "../support/nats-server.ts";
import { waitFor } from "../support/wait.ts";

/** Counts the product's own files that a piece of work enters, so that the distance a reader has to go is known. */

const root = fileURLToPath(new URL("../..", import.meta.url));
const timeoutMs = 20_000;
const idleMs = 500;

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
    const ran = result.filter(({ functions }) =>
      functions.some(({ functionName, ranges }) => functionName !== "" && (ranges[0]?.count ?? 0) > 0),
    );
    const files = ran.map(({ url }) => (url.startsWith("file:") ? fileURLToPath(url) : url));
    return new Set(files.filter((file) => /^(?:crds|kube|runtime)\//u.test(file.slice(root.length))));
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

test("a cold query enters a number of files that is known", async () => {
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
  say(`files that a cold query enters: ${count} (a target: fewer than 84)`);
  expect(count).toBeGreaterThan(20);
});

test("an event on its way in, to its partner and to its record enters a number of files that is known", async (context) => {
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
  const count = await filesOf(await startCounting(), () => deliver("cold"));
  say(`files that an event enters, with a look at its history: ${count} (a target: fewer than 78)`);
  expect(count).toBeGreaterThan(20);
});
