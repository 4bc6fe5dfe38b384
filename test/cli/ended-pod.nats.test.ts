import type { ServerResponse } from "node:http";
import { afterEach, beforeEach, expect, test } from "vitest";
import { connectNats } from "../../runtime/nats/connection/connect.ts";
import { plainObject } from "../crds/valid-objects.ts";
import { startNatsServer, type NatsServerHandle } from "../support/nats-server.ts";
import { waitFor } from "../support/wait.ts";
import { simulated } from "../runtime/http/routes/metrics-server.ts";
import {
  healthyProbe,
  startScriptedStore,
  type ScriptedStore,
  type StoreRequest,
} from "../runtime/stores/scripted-store.ts";
import { get, makeInstallation, type Installation, type Running } from "./installation.ts";

const timeoutMs = 30_000;
/** Both pods own some of these queries. Each is one read, and a store takes five of a class at once. */
const services = ["a", "b", "c", "d", "e"];

/** A store that holds its first answers back until it is told to give them. */
interface HeldStore {
  readonly store: ScriptedStore;
  isHolding: boolean;
  /** Range queries that wait for an answer. */
  held(): number;
  release(): void;
}

let nats: NatsServerHandle;
let held: HeldStore;
let installations: readonly Installation[];

beforeEach(async () => {
  nats = await startNatsServer();
  held = await startHeldStore();
  installations = await Promise.all([makeInstallation(), makeInstallation()]);
});

afterEach(async () => {
  await Promise.all(installations.map((installation) => installation.remove()));
  await held.store.close();
  await nats.stop();
});

async function startHeldStore(): Promise<HeldStore> {
  const waiting: (() => void)[] = [];
  const answer = simulated(() => ({ services: ["a", "b"] }));
  const reply = (response: ServerResponse, request: StoreRequest): void => {
    if (own.isHolding && request.path.endsWith("query_range")) waiting.push(() => answer(response, request));
    else answer(response, request);
  };
  const own: HeldStore = {
    store: await startScriptedStore(healthyProbe(reply)),
    isHolding: false,
    held: () => waiting.length,
    release: () => waiting.splice(0).forEach((give) => give()),
  };
  return own;
}

/** Two pods with the same catalog on one NATS, which know each other. */
async function startPods(): Promise<readonly Running[]> {
  const catalog = plainObject("MetricCatalog", {
    stores: [{ name: "eu", region: "eu", prometheus: { url: held.store.url } }],
    "metrics[0].labels": ["region", "tenant", "service"],
    "metrics[0].aggregations": ["max"],
    "metrics[0].defaultAggregation": "max",
  });
  await Promise.all(installations.map((installation) => installation.write("catalog.yaml", JSON.stringify(catalog))));
  const pods: Running[] = [];
  for (const installation of installations) pods.push(await installation.start("--nats", nats.url));
  let tries = 0;
  const areSharing = async (): Promise<boolean> => {
    tries += 1;
    const answers = [];
    for (const place of pods.keys()) answers.push(await ask(pods, place, `try-${tries}`));
    return /shared=[1-9]/u.test(answers.at(-1)?.cache ?? "");
  };
  await waitFor(areSharing, { timeoutMs: 20_000, pollMs: 500, what: "a pod with the points of the other" });
  return pods;
}

async function ask(pods: readonly Running[], place: number, service: string) {
  const token = await installations[place]?.token({ tenants: ["lumen"] });
  const [from, to] = ["00", "40"].map((minute) => `2026-01-01T10:${minute}:00Z`);
  const path = `/v1/metrics/query?metric=cpu_util&filter[service]=${service}&from=${from}&to=${to}&step=5m`;
  const { status, body, headers } = await get(`${pods[place]?.line.url}${path}`, token);
  return { status, code: body["code"], cache: String(headers["x-query-cache"]) };
}

const askAll = (pods: readonly Running[], place: number) =>
  Promise.allSettled(services.map((service) => ask(pods, place, service)));

/** Counts the messages about leases from now on. It answers none, but its subscription hides that a pod is gone. */
async function countLeases() {
  const { connection } = await connectNats({ servers: [nats.url] });
  const counts = { take: 0, wait: 0 };
  const subscription = connection.subscribe("hg.pod.*.lease", {
    callback: (_error, message) => {
      const { take, wait } = message.json<{ readonly take?: string; readonly wait?: string }>();
      if (take !== undefined) counts.take += 1;
      if (wait !== undefined) counts.wait += 1;
    },
  });
  await connection.flush();
  const end = async (): Promise<void> => {
    subscription.unsubscribe();
    await connection.close();
  };
  return { counts, end };
}

/** The first pod reads all queries, and the second one waits for it. */
async function startWaiting(pods: readonly Running[]) {
  const leases = await countLeases();
  held.isHolding = true;
  const first = askAll(pods, 0);
  const areRead = () => held.held() === services.length;
  await waitFor(areRead, { timeoutMs, pollMs: 5, what: "the reads of the first pod" });
  held.isHolding = false;
  // The first pod asked the second one for these leases, and owns the others.
  const ownedByFirst = services.length - leases.counts.take;
  const second = askAll(pods, 1);
  const isWaiting = () => leases.counts.wait >= ownedByFirst;
  await waitFor(isWaiting, { timeoutMs, pollMs: 5, what: "the waits of the second pod" });
  await leases.end();
  return { first, second };
}

const statusesOf = (answers: Awaited<ReturnType<typeof askAll>>) =>
  answers.map((answer) => (answer.status === "fulfilled" ? answer.value.status : 0));

test("a pod answers in time what it waited for when the pod that reads it is killed", async () => {
  const pods = await startPods();
  const { second } = await startWaiting(pods);
  pods[0]?.signal("SIGKILL");
  expect(statusesOf(await second)).toEqual(services.map(() => 200));
});

test("both pods answer in time when the pod that reads drains", async () => {
  const pods = await startPods();
  const { first, second } = await startWaiting(pods);
  pods[0]?.signal("SIGTERM");
  const hasBegun = () => pods[0]?.logLines().some(({ msg }) => msg === "draining");
  await waitFor(hasBegun, { timeoutMs, pollMs: 5, what: "the drain" });
  held.release();
  expect(statusesOf(await first)).toEqual(services.map(() => 200));
  expect(statusesOf(await second)).toEqual(services.map(() => 200));
});
