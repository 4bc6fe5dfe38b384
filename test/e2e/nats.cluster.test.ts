import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { describeOnCluster } from "../cluster/describe-on-cluster.ts";
import { waitFor } from "../support/wait.ts";
import { describeCertificates } from "./describe-certificates.ts";
import { describeFirstDelivery } from "./describe-first-delivery.ts";
import {
  applyDefinitions,
  chart,
  endInstallation,
  type Installation,
  setJson,
  startInstallation,
  suiteValues,
} from "./installation.ts";
import { startLoad } from "./load.ts";
import { neighbours, partner, resources, signingSecret } from "./manifests.ts";
import { doubledOf, moveNats } from "./move-nats.ts";
import { type User, userOf } from "./user.ts";

const namespace = "nats";
const release = "heliograph";
const service = "heliograph";
const keys = { first: randomBytes(32).toString("hex"), second: randomBytes(32).toString("hex") };
const [firstKey, secondKey] = [
  { id: "first", secret: keys.first },
  { id: "second", secret: keys.second },
];
const events = 1_000;
const longMs = 5 * 60_000;

let installation: Installation;
let user: User;

const log = (line: string): void => console.log(line);

beforeAll(async () => {
  await endInstallation(() => undefined);
  installation = await startInstallation(log);
});

afterAll(async () => {
  await user?.close();
  await endInstallation(log);
});

/** A partner whose address refuses connections, so that its deliveries wait for a retry. */
function unreachable(port: number): object {
  const { metadata, spec, ...rest } = partner(namespace, [secondKey.id]) as PartnerManifest;
  const endpoint = { ...spec.endpoint, url: `http://partner.${namespace}.svc.cluster.local:${port}/webhooks/v1/late` };
  const retry = { scheduleSeconds: [5, 5, 5, 5, 10, 20, 30] };
  return { ...rest, metadata: { ...metadata, name: "late" }, spec: { ...spec, endpoint, retry } };
}

interface PartnerManifest {
  readonly metadata: object;
  readonly spec: { readonly endpoint: object };
}

describeFirstDelivery(() => installation);

describeCertificates(() => installation);

describeOnCluster("a move of NATS", () => {
  beforeAll(async () => {
    const { kubectl, helm } = installation;
    await applyDefinitions(installation);
    await kubectl(["create", "namespace", namespace]);
    await kubectl(["--namespace", namespace, "create", "serviceaccount", "caller"]);
    await kubectl(["--namespace", namespace, "apply", "--filename=-"], neighbours(keys));
    await kubectl(["--namespace", namespace, "rollout", "status", "deployment/partner", "--timeout=60s"]);
    const flags = ["--namespace", namespace, "--wait", "--timeout=3m"];
    const own = ["--set", "crds.install=false"];
    await helm(["install", release, chart, ...flags, ...setJson(suiteValues(namespace)), ...own]);
    user = await userOf(installation, namespace, service);
    await user.kubectl(["apply", "--filename=-"], resources(namespace, firstKey));
    await user.kubectl(["apply", "--filename=-"], signingSecret(secondKey));
    await user.kubectl(["apply", "--filename=-"], unreachable(9));
    await user.kubectl(["patch", "webhookpartner/partner", "--type=merge", '--patch={"spec":{"state":"Paused"}}']);
    await user.programmed(["webhookpartner/partner", "webhookpartner/late"]);
  });

  test(
    `keeps ${events} events that wait for two partners, to three servers and back to one`,
    { timeout: longMs },
    async () => {
      const load = await startLoad(user, service, {
        prefix: "moved",
        eventsPerSecond: 100,
        queriesPerSecond: 0,
        seconds: 10,
      });
      const { accepted, failures } = await load.report();
      expect(failures).toEqual({});
      const startMs = performance.now();
      const there = await moveNats(installation, user, { release, replicas: 3, store: "b" });
      const back = await moveNats(installation, user, { release, replicas: 1, store: "c" });
      const eventsLine = new RegExp(`^HG_EVENTS: ${accepted} messages, `, "u");
      for (const said of [there, back]) expect(said.find((line) => eventsLine.test(line))).toBeDefined();
      console.log(`two moves of ${accepted} events took ${Math.round(performance.now() - startMs)} ms`);

      await user.kubectl(["patch", "webhookpartner/partner", "--type=merge", '--patch={"spec":{"state":"Active"}}']);
      await user.kubectl(["apply", "--filename=-"], unreachable(8080));
      const doubled = await doubledOf(user, "moved", accepted, 2);
      console.log(`all ${accepted} events arrived at both partners, ${doubled} more than once`);
      expect({ accepted, doubled }).toEqual({ accepted: events, doubled: 0 });
      expect(await user.send("moved-0")).toBe(409);
    },
  );

  test("leaves the volumes of the servers before", async () => {
    const claims = await user.kubectl(["get", "persistentvolumeclaims", "--output=name"]);
    for (const name of ["nats-0", "nats-b-0", "nats-b-2", "nats-c-0"])
      expect(claims).toContain(`data-${service}-${name}`);
  });

  test("keeps a runtime from servers without the recorded streams", async () => {
    const set = ["scale", `statefulset/${service}-nats-c`];
    await user.kubectl(["scale", `deployment/${service}-runtime`, "--replicas=0"]);
    await user.kubectl([...set, "--replicas=0"]);
    await user.kubectl(["wait", "--for=delete", `pod/${service}-nats-c-0`, "--timeout=60s"]);
    await user.kubectl(["delete", "pvc", `data-${service}-nats-c-0`]);
    await user.kubectl([...set, "--replicas=1"]);
    await user.kubectl(["scale", `deployment/${service}-runtime`, "--replicas=1"]);
    const lost = async (): Promise<boolean> =>
      /StreamsLost: .*HG_EVENTS, made /u.test(await user.kubectl(["logs", `deployment/${service}-runtime`]));
    await waitFor(lost, { timeoutMs: 60_000, pollMs: 1_000, what: "the loss in the log" });
    const ready = ["get", `deployment/${service}-runtime`, "--output=jsonpath={.status.readyReplicas}"];
    expect(await user.kubectl(ready)).toBe("");
  });
});
