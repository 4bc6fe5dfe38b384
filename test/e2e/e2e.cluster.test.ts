import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { waitFor } from "../support/wait.ts";
import { chart, endInstallation, type Installation, setJson, startInstallation, suiteValues } from "./installation.ts";
import { fateOf, startLoad } from "./load.ts";
import { metric, neighbours, partner, resources, signingSecret } from "./manifests.ts";
import { type User, userOf } from "./user.ts";

const namespace = "demo";
const release = "hg";
const service = "hg-heliograph";
const readyMsMax = 60_000;
const arriveMsMax = 30_000;
/** Loads last minutes on a machine that does other things too. */
const longMs = 5 * 60_000;

const secret = (): string => randomBytes(32).toString("hex");
const keys = { first: secret(), second: secret(), third: secret() };
const firstKey = { id: "first", secret: keys.first };

let installation: Installation;
let user: User;

beforeAll(async () => {
  installation = await startInstallation((line) => console.log(line));
});

afterAll(async () => {
  await user?.close();
  await endInstallation((line) => console.log(line));
});

function upgrade(values: Readonly<Record<string, unknown>>): Promise<string> {
  return installation.helm(["upgrade", release, chart, "--namespace", namespace, "--reuse-values", "--wait", "--timeout=4m", ...setJson(values)]);
}

describe("helm install", () => {
  test("makes everything ready within a minute, in a namespace that enforces the restricted standard", async () => {
    const { kubectl, helm } = installation;
    await kubectl(["create", "namespace", namespace]);
    await kubectl(["label", "namespace", namespace, "pod-security.kubernetes.io/enforce=restricted"]);
    await kubectl(["--namespace", namespace, "create", "serviceaccount", "caller"]);
    await kubectl(["--namespace", namespace, "apply", "--filename=-"], neighbours(keys));
    await kubectl(["--namespace", namespace, "rollout", "status", "deployment/partner", "--timeout=60s"]);
    await kubectl(["--namespace", namespace, "rollout", "status", "deployment/store", "--timeout=60s"]);
    const startMs = performance.now();
    await helm(["install", release, chart, "--namespace", namespace, "--wait", "--timeout=2m", ...setJson({ ...suiteValues(namespace), tests: { enabled: true } })]);
    const tookMs = performance.now() - startMs;
    console.log(`everything was ready ${Math.round(tookMs)} ms after helm install`);
    expect(tookMs).toBeLessThan(readyMsMax);
    user = await userOf(installation, namespace, service);
  });

  test("obeys the three resources", async () => {
    await user.kubectl(["apply", "--filename=-"], resources(namespace, firstKey));
    const tookMs = await user.programmed();
    console.log(`the resources were programmed after ${Math.round(tookMs)} ms`);
    expect(tookMs).toBeLessThan(arriveMsMax);
  });

  test("delivers an event, signed", async () => {
    expect(await user.send("first-event")).toBe(202);
    await waitFor(async () => (await user.received()).events["first-event"], { timeoutMs: arriveMsMax, pollMs: 100, what: "the event at the partner" });
    expect(await user.received()).toMatchObject({ events: { "first-event": 1 }, byKey: { first: 1 }, badSignatures: 0 });
  });

  test("answers a query from the store", async () => {
    const answered = async (): Promise<boolean> => (await user.ask()).value !== undefined;
    await waitFor(answered, { timeoutMs: arriveMsMax, pollMs: 500, what: "a value of the metric" });
    expect(await user.ask()).toEqual({ status: 200, value: metric.value });
  });
});

test("helm test passes and cleans up", async () => {
  const said = await installation.helm(["test", release, "--namespace", namespace, "--timeout=2m"]);
  expect(said).toMatch(/Phase: +Succeeded/u);
  expect(await user.kubectl(["get", "webhookpartners,metriccatalogs,queryclassquotas", "--output=name"])).not.toContain("hg-heliograph-test");
});

describe("an edit", () => {
  test("of a partner is obeyed by every pod", async () => {
    const tookMs: number[] = [];
    for (let version = 2; version <= 6; version++) {
      await user.kubectl(["apply", "--filename=-"], partner(namespace, ["first"], `/webhooks/v${version}/payout`));
      tookMs.push(Math.round(await user.programmed(["webhookpartner/partner"])));
    }
    console.log(`edits were programmed after ${tookMs.join(", ")} ms`);
    expect(await user.send("edited-event")).toBe(202);
    await waitFor(async () => (await user.received()).events["edited-event"], { timeoutMs: arriveMsMax, pollMs: 100, what: "the event at the partner" });
    expect((await user.received()).byPath["/webhooks/v6/payout"]).toBe(1);
  });

  test("of the signing keys lets the new one sign", async () => {
    await user.kubectl(["apply", "--filename=-"], signingSecret({ id: "second", secret: keys.second }));
    await user.kubectl(["apply", "--filename=-"], partner(namespace, ["second", "first"]));
    await user.programmed(["webhookpartner/partner"]);
    expect(await user.send("rotated-event")).toBe(202);
    await waitFor(async () => (await user.received()).events["rotated-event"], { timeoutMs: arriveMsMax, pollMs: 100, what: "the event at the partner" });
    expect(await user.received()).toMatchObject({ byKey: { second: 1 }, badSignatures: 0 });
  });

  test("of a Secret that a partner names is obeyed without an edit of the partner", async () => {
    await user.kubectl(["apply", "--filename=-"], signingSecret({ id: "second", secret: keys.third }));
    let sent = 0;
    const isSignedAnew = async (): Promise<boolean> => {
      await user.send(`renewed-event-${sent++}`);
      return (await user.received()).byKey["third"] !== undefined;
    };
    await waitFor(isSignedAnew, { timeoutMs: arriveMsMax, pollMs: 500, what: "an event signed with the new bytes" });
    expect((await user.received()).badSignatures).toBe(0);
  });
});

describe("under load", () => {
  test(
    "a rolling upgrade loses no event and fails no query",
    async () => {
      const load = await startLoad(user, service, { prefix: "upgrade", eventsPerSecond: 100, queriesPerSecond: 50, seconds: 75 });
      const startMs = performance.now();
      await upgrade({ runtime: { podAnnotations: { rolled: "once" } } });
      console.log(`the upgrade took ${Math.round(performance.now() - startMs)} ms`);
      const { accepted, answered, failures } = await load.report();
      const fate = await fateOf(user, "upgrade", accepted);
      console.log(`upgrade: ${JSON.stringify({ accepted, answered, failures, ...fate })}`);
      expect({ accepted, answered, failures }).toEqual({ accepted: 7500, answered: 3750, failures: {} });
      expect(fate).toEqual({ arrived: 7500, doubled: 0 });
    },
    longMs,
  );

  test(
    "pods that are killed lose no accepted event",
    async () => {
      const load = await startLoad(user, service, { prefix: "kill", eventsPerSecond: 20, queriesPerSecond: 5, seconds: 60 });
      await kill("runtime");
      await user.kubectl(["rollout", "status", `deployment/${service}-runtime`, "--timeout=60s"]);
      await kill("nats");
      await user.kubectl(["rollout", "status", `statefulset/${service}-nats`, "--timeout=90s"]);
      const { accepted, failures } = await load.report();
      const fate = await fateOf(user, "kill", accepted);
      console.log(`kill: ${JSON.stringify({ accepted, failures, ...fate })}`);
      expect(accepted).toBeGreaterThan(0);
      expect(fate.arrived).toBeGreaterThanOrEqual(accepted);
      await user.kubectl(["rollout", "status", `deployment/${service}-runtime`, "--timeout=60s"]);
    },
    longMs,
  );

  test(
    "scaling from one pod to three and back loses and doubles no event",
    async () => {
      const scale = async (replicas: number): Promise<void> => {
        await user.kubectl(["scale", `deployment/${service}-runtime`, `--replicas=${replicas}`]);
        await user.kubectl(["rollout", "status", `deployment/${service}-runtime`, "--timeout=60s"]);
      };
      await scale(1);
      const load = await startLoad(user, service, { prefix: "scale", eventsPerSecond: 20, queriesPerSecond: 5, seconds: 60 });
      await scale(3);
      await scale(1);
      const { accepted, answered, failures } = await load.report();
      const fate = await fateOf(user, "scale", accepted);
      console.log(`scale: ${JSON.stringify({ accepted, answered, failures, ...fate })}`);
      expect({ accepted, answered, failures }).toEqual({ accepted: 1200, answered: 300, failures: {} });
      expect(fate).toEqual({ arrived: 1200, doubled: 0 });
      await scale(2);
    },
    longMs,
  );

  /** Ends a part's first pod as a crash does: without a signal that it could obey. */
  async function kill(part: string): Promise<void> {
    const [pod = ""] = (await user.kubectl(["get", "pods", `--selector=app.kubernetes.io/component=${part}`, "--output=name"])).split("\n");
    await user.kubectl(["delete", pod, "--grace-period=0", "--force", "--wait=false"]);
  }
});

test("another operator takes the lead when the leader is killed, and obeys edits", async () => {
  const holder = (): Promise<string> => user.kubectl(["get", "lease", `${service}-operator`, "--output=jsonpath={.spec.holderIdentity}"]);
  const before = await holder();
  const pods = await user.kubectl(["get", "pods", "--selector=app.kubernetes.io/component=operator", "--output=jsonpath={range .items[*]}{.metadata.uid} {.metadata.name}{\"\\n\"}{end}"]);
  const [, leader = ""] = pods.split("\n").find((line) => line.startsWith(before))?.split(" ") ?? [];
  await user.kubectl(["delete", "pod", leader, "--grace-period=0", "--force", "--wait=false"]);
  await user.kubectl(["apply", "--filename=-"], partner(namespace, ["second", "first"], "/webhooks/v9/payout"));
  console.log(`an edit was programmed ${Math.round(await user.programmed(["webhookpartner/partner"]))} ms after the leader was killed`);
  expect(await holder()).not.toBe(before);
});
