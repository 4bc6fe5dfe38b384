import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { describeOnNode } from "../cluster/describe-on-cluster.ts";
import { isSoak } from "../support/soak.ts";
import { waitFor } from "../support/wait.ts";
import { chart, endInstallation, type Installation, setJson, startInstallation, suiteValues } from "./installation.ts";
import { fateOf, startLoad } from "./load.ts";
import { manyPartners } from "./many-partners.ts";
import { neighbours } from "./manifests.ts";
import { measurePods } from "./pod-memory.ts";
import { type User, userOf } from "./user.ts";

const namespace = "many";
const release = "heliograph";
const partners = 1_000;
const eventsPerSecond = 200;
const seconds = 60;
const programmedMsMax = 180_000;
const testMsMax = 9 * 60_000;

const made = manyPartners(namespace, partners);
let installation: Installation;
let user: User;

async function isEveryoneReady(): Promise<boolean> {
  const path = '{range .items[*]}{.status.conditions[?(@.type=="Programmed")].status}{" "}{end}';
  const states = await user.kubectl(["get", "webhookpartners", `--output=jsonpath=${path}`]);
  const ready = states.split(" ").filter((state) => state === "True").length;
  if (ready < partners) throw new Error(`${ready} of ${partners} partners are programmed`);
  return true;
}

/** Reads the control groups of this machine. It takes minutes: `make soak` and `make default-requests` run it. */
const describeInSoak = isSoak ? describeOnNode : describe.skip;

describeInSoak("pods of the default values", () => {
  beforeAll(async () => {
    await endInstallation(() => undefined);
    installation = await startInstallation((line) => console.log(line));
    const { kubectl, helm } = installation;
    await kubectl(["create", "namespace", namespace]);
    await kubectl(["--namespace", namespace, "create", "serviceaccount", "caller"]);
    await kubectl(["--namespace", namespace, "apply", "--server-side", "--filename=-"], neighbours(made.keys));
    await kubectl(["--namespace", namespace, "rollout", "status", "deployment/partner", "--timeout=60s"]);
    const values = setJson(suiteValues(namespace));
    await helm(["install", release, chart, "--namespace", namespace, "--wait", "--timeout=2m", ...values]);
    user = await userOf(installation, namespace, release);
  });

  afterAll(async () => {
    await user?.close();
    await endInstallation((line) => console.log(line));
  });

  test(
    `stay within their requests of memory with ${partners} partners and ${eventsPerSecond} events a second`,
    async () => {
      await user.kubectl(["apply", "--server-side", "--filename=-"], made.secret);
      const startMs = performance.now();
      for (const list of made.lists) await user.kubectl(["create", "--filename=-"], list);
      console.log(`${partners} partners were made after ${Math.round(performance.now() - startMs)} ms`);
      await waitFor(isEveryoneReady, { timeoutMs: programmedMsMax, pollMs: 1_000, what: "the partners" });
      console.log(`${partners} partners were programmed after ${Math.round(performance.now() - startMs)} ms`);
      const pods = await measurePods(installation, namespace);
      console.table(pods.measure());
      const prefix = "many";
      const request = { prefix, eventsPerSecond, queriesPerSecond: 0, seconds, types: partners };
      const load = await startLoad(user, release, request);
      const report = await load.report().finally(() => pods.end());
      const memory = pods.measure();
      console.log(JSON.stringify(report));
      console.table(memory);
      const fate = await fateOf(user, prefix, report.accepted);
      console.log(`${fate.arrived} of ${report.accepted} events arrived, ${fate.doubled} of them more than once`);
      expect(report.failures).toEqual({});
      expect(new Set(memory.map(({ component }) => component))).toEqual(new Set(["operator", "runtime", "nats"]));
      expect(memory.filter(({ most, requested }) => most > requested)).toEqual([]);
    },
    testMsMax,
  );
});
