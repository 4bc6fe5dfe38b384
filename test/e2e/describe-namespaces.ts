import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { describeOnCluster } from "../cluster/describe-on-cluster.ts";
import { waitFor } from "../support/wait.ts";
import type { Installation } from "./installation.ts";
import { partner, signingSecret } from "./manifests.ts";
import type { User } from "./user.ts";

/** The suite's installation, which is there once its tests run. */
interface Suite {
  readonly installation: Installation;
  readonly user: User;
  /** Name of the release's Service, and first part of every name. */
  readonly service: string;
  /** Upgrades the release with more values; answers the notes. */
  readonly upgrade: (values: Readonly<Record<string, unknown>>) => Promise<string>;
}

const tenant = "tenant";
const longMs = 5 * 60_000;
const editMsMax = 3_000;
const grantMsMax = 5_000;
/** A pod reports what it applied, and the operator writes the status, after the edit is in force. */
const reportMs = 2_000;
const busyMs = 10_000;
const returnMsMax = 30_000;

/** Shows that a missing watched namespace ends the configuration of no other, and is followed when it is back. */
export function describeNamespaces(suite: () => Suite): void {
  const everything = { tenants: ["*"], producers: ["*"], storeHosts: ["*"], clients: ["*"] };
  const grantFor = (namespaces: readonly string[]) => [
    { namespaces, ...everything, cidrs: ["10.0.0.0/8"], plaintext: true },
  ];
  const inTenant = (args: readonly string[], stdin?: object): Promise<string> =>
    suite().installation.kubectl(["--namespace", tenant, ...args], stdin);
  const guest = (): object => ({
    apiVersion: "v1",
    kind: "List",
    items: [
      signingSecret({ id: "guest", secret: randomBytes(32).toString("hex") }),
      partner(suite().user.namespace, ["guest"], "/webhooks/v1/guest"),
    ],
  });
  /** Status and last change of a condition of the tenant's partner. */
  const condition = async (type: string): Promise<string> => {
    const path = `{.status.conditions[?(@.type=="${type}")]['status','reason','lastTransitionTime']}`;
    return await inTenant(["get", "webhookpartner/partner", `--output=jsonpath=${path}`]);
  };
  const conditionIs = async (type: string, wanted: string): Promise<number> => {
    const startedMs = performance.now();
    await waitFor(async () => (await condition(type)).startsWith(wanted), {
      timeoutMs: 60_000,
      pollMs: 50,
      what: `${type} of the tenant's partner to be ${wanted}`,
    });
    return performance.now() - startedMs;
  };
  const restartOperator = async (): Promise<void> => {
    const { user, service } = suite();
    await user.kubectl(["rollout", "restart", `deployment/${service}-operator`]);
    await user.kubectl(["rollout", "status", `deployment/${service}-operator`, "--timeout=60s"]);
  };
  /** Edits the suite's own partner; answers the time until every pod applied it. */
  const editMs = async (timeoutSeconds: number): Promise<number> => {
    const { user } = suite();
    const patch = JSON.stringify({ spec: { endpoint: { timeoutSeconds } } });
    await user.kubectl(["patch", "webhookpartner/partner", "--type=merge", "--patch", patch]);
    return await user.programmed(["webhookpartner/partner"]);
  };

  describeOnCluster("a watched namespace", () => {
    test(
      "is Reconciling without a grant, and in force five seconds after the upgrade that grants it",
      async () => {
        const { installation, user, upgrade } = suite();
        await installation.kubectl(["create", "namespace", tenant]);
        await upgrade({ "watch.namespaces": [user.namespace, tenant] });
        await inTenant(["apply", "--filename=-"], guest());
        await conditionIs("Reconciling", "True NotPermitted");
        await upgrade({ "policy.grants": grantFor([user.namespace, tenant]) });
        const grantedMs = await conditionIs("Ready", "True");
        console.log(`a wider grant was in force ${Math.round(grantedMs)} ms after the upgrade`);
        expect(grantedMs).toBeLessThan(grantMsMax + reportMs + busyMs);
      },
      longMs,
    );

    test(
      "whose RoleBinding is deleted keeps its partner over a restart of the operator",
      async () => {
        const { upgrade, service, user } = suite();
        const before = await condition("Ready");
        await inTenant(["delete", "rolebinding", `${user.namespace}:${service}:resources`]);
        await restartOperator();
        const tookMs = await editMs(6);
        console.log(`an edit elsewhere was programmed after ${Math.round(tookMs)} ms`);
        expect(tookMs).toBeLessThan(editMsMax + reportMs + busyMs);
        await upgrade({});
        // It was Ready all the time. An edit may be not Ready while a busy pod takes it.
        expect(await condition("Ready")).toBe(before);
        await inTenant(["patch", "webhookpartner/partner", "--type=merge", "--patch", '{"spec":{"state":"Paused"}}']);
        console.log(
          `the namespace was followed again after ${Math.round(await conditionIs("Ready", "True Paused"))} ms`,
        );
      },
      longMs,
    );

    test(
      "that is deleted keeps neither the operator nor an upgrade from working, and is followed when it is back",
      async () => {
        const { installation, upgrade } = suite();
        await installation.kubectl(["delete", "namespace", tenant, "--timeout=60s"]);
        await restartOperator();
        const tookMs = await editMs(5);
        console.log(`an edit elsewhere was programmed after ${Math.round(tookMs)} ms`);
        expect(tookMs).toBeLessThan(editMsMax + reportMs + busyMs);
        expect(await upgrade({})).toContain(`so nothing was applied there: ${tenant}.`);
        await installation.kubectl(["create", "namespace", tenant]);
        expect(await upgrade({})).not.toContain("so nothing was applied there");
        await inTenant(["apply", "--filename=-"], guest());
        const backMs = await conditionIs("Ready", "True");
        console.log(`the namespace was followed again after ${Math.round(backMs)} ms`);
        expect(backMs).toBeLessThan(returnMsMax);
        await upgrade({ "watch.namespaces": [suite().user.namespace] });
        await installation.kubectl(["delete", "namespace", tenant, "--wait=false"]);
      },
      longMs,
    );
  });
}
