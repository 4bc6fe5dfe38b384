import type { Profiler } from "node:inspector";
import { Session } from "node:inspector/promises";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { metricsServerOver, nowMs, simulated } from "../runtime/http/routes/metrics-server.ts";
import { healthyProbe, startScriptedStore } from "../runtime/stores/scripted-store.ts";
import { engineCase, partnerServer } from "../runtime/webhooks/engine-cases.ts";
import { configOf, eventBytes, partnerConfig } from "../runtime/webhooks/engine-fixture.ts";
import { startNatsServer } from "../support/nats-server.ts";
import { waitFor } from "../support/wait.ts";

/**
 * Counts the files of the product that a request runs through, which is what a newcomer has to read: those in which a
 * function ran, named or anonymous. A file whose constants alone are read is none of them.
 */

const root = fileURLToPath(new URL("../..", import.meta.url));
const timeoutMs = 20_000;
const idleMs = 1_500;
const coldIds = Array.from({ length: 8 }, (_, index) => `cold-${index}`);
const otherFolders = /^(?:node_modules|test)\//u;
/** The function that vitest makes for each export, which runs when another file reads that export. */
const exportGetter = /^\(\) => \{ try \{ return \w+ \} catch \{\} \}$/u;

/** Most files on each path. They only fall: lower them with every change that merges files. */
const filesMax = { query: 60, delivery: 52 };

/** Files of the product with a function that ran since this was last asked. */
type Entered = () => Promise<ReadonlySet<string>>;

async function startCounting(): Promise<Entered> {
  const session = new Session();
  session.connect();
  onTestFinished(() => session.disconnect());
  await session.post("Profiler.enable");
  await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
  await session.post("Debugger.enable");
  const hasRun = async ({ scriptId, functions }: Profiler.ScriptCoverage): Promise<boolean> => {
    const { scriptSource } = await session.post("Debugger.getScriptSource", { scriptId });
    return functions.some(({ functionName, ranges: [range] }) => {
      if (range === undefined || range.count === 0) return false;
      const text = scriptSource.slice(range.startOffset, range.endOffset);
      // The range of the module itself, which runs when it is imported, is the whole text.
      return text !== scriptSource && (functionName !== "" || !exportGetter.test(text));
    });
  };
  return async () => {
    const { result } = await session.post("Profiler.takePreciseCoverage");
    const names = new Set<string>();
    for (const script of result) {
      const file = script.url.startsWith("file:") ? fileURLToPath(script.url) : script.url;
      const name = file.slice(root.length);
      if (file.startsWith(root) && !otherFolders.test(name) && (await hasRun(script))) names.add(name);
    }
    return names;
  };
}

/** Files that most of the requests enter, and a pause does not: batches and timers are in few of them. */
async function filesOf(entered: Entered, request: (id: string) => Promise<unknown>): Promise<readonly string[]> {
  const counts = new Map<string, number>();
  await entered();
  await new Promise((resolve) => setTimeout(resolve, idleMs));
  const idle = await entered();
  for (const id of coldIds) {
    await entered();
    await request(id);
    for (const file of await entered()) counts.set(file, (counts.get(file) ?? 0) + 1);
  }
  const most = [...counts].filter(([, count]) => count > coldIds.length / 2).map(([file]) => file);
  return most.filter((file) => !idle.has(file));
}

function printed(files: readonly string[], max: number, path: string): number {
  process.stdout.write(`files on the path of ${path}: ${files.length} of at most ${max}\n`);
  if (files.length > max) process.stdout.write(`${files.toSorted().join("\n")}\n`);
  return files.length;
}

test("a cold query runs through a bounded number of files", async () => {
  const store = await startScriptedStore(healthyProbe(simulated(() => ({ services: ["warm", ...coldIds] }))));
  onTestFinished(() => store.close());
  const server = metricsServerOver({ eu: store.url }, { now: () => nowMs });
  onTestFinished(() => server.close());
  const ask = (service: string) =>
    server.get(
      `/v1/metrics/query?metric=lag&agg=max&filter[tenant]=brand-a&filter[service]=${service}&step=5m` +
        "&from=2026-01-01T06:00:00Z&to=2026-01-01T09:00:00Z",
    );
  expect((await ask("warm")).status).toBe(200);
  const count = printed(await filesOf(await startCounting(), ask), filesMax.query, "a cold query");
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
  const count = printed(await filesOf(await startCounting(), deliver), filesMax.delivery, "a delivery and its history");
  expect(count).toBeGreaterThan(20);
  expect(count).toBeLessThanOrEqual(filesMax.delivery);
});
