import { beforeAll, expect, test } from "vitest";
import { describeOnCluster } from "../cluster/describe-on-cluster.ts";
import type { Installation } from "./installation.ts";
import { fateOf, startLoad } from "./load.ts";
import {
  bindTeam,
  type BoundClient,
  evictInTurn,
  readsDuring,
  sentFromPod,
  sentFromProxy,
  teamMay,
} from "./operations.ts";
import { mayDo } from "./rights.ts";
import type { User } from "./user.ts";

/** The suite's installation, which is there once its tests run. */
interface Suite {
  readonly installation: Installation;
  readonly user: User;
  readonly client: BoundClient;
  /** Name of the release's Service, and first part of every name. */
  readonly service: string;
  /** Whether the cluster is the node of this project, whose addresses are known. */
  readonly isNode: boolean;
}

const drainMsMax = 5 * 60_000;

/** Shows that a header proves no certificate unless a trusted proxy sends it. */
export function describeForgedCertificate(suite: () => Suite): void {
  describeOnCluster("a certificate in a header", () => {
    test("proves nothing when a pod sends it", async () => {
      const { user, service, client } = suite();
      expect(await sentFromPod(user, service, client)).toBe(401);
    });

    test("counts when a trusted proxy passes it on", async (context) => {
      const { installation, user, service, client, isNode } = suite();
      if (!isNode) context.skip("addresses of the cluster's nodes are not known");
      expect(await sentFromProxy(installation, user, service, client)).toBe(202);
    });
  });
}

/** Shows that every pod may be evicted, and that no event is lost by it. */
export function describeDrain(suite: () => Suite): void {
  describeOnCluster("a drain", () => {
    test(
      "evicts every pod, one after the other, and loses no event",
      async () => {
        const { installation, user, service } = suite();
        const request = { prefix: "drain", eventsPerSecond: 20, queriesPerSecond: 5, seconds: 30 };
        const load = await startLoad(user, service, request);
        // The connection of the CLI leads to a pod that is evicted, and then to another one.
        const { result: drain, reads } = await readsDuring(installation, user, async () => {
          const evictions = await evictInTurn(user, ["operator", "runtime", "nats"]);
          for (const workload of ["deployment/operator", "deployment/runtime", "statefulset/nats"])
            await user.kubectl(["rollout", "status", workload.replace("/", `/${service}-`), "--timeout=60s"]);
          return evictions;
        });
        const { accepted, failures } = await load.stop();
        const fate = await fateOf(user, "drain", accepted);
        console.log(`drain: ${JSON.stringify({ ...drain, reads, accepted, failures, ...fate })}`);
        expect(reads).toEqual({ succeeded: expect.any(Number), failures: [] });
        expect(reads.succeeded).toBeGreaterThan(0);
        expect(fate.arrived).toBeGreaterThanOrEqual(Math.max(1, accepted));
        // Operators and a NATS with a volume delay no drain. The second runtime pod waits for a new one.
        expect(drain.refusals).toMatchObject({ operator: 0, nats: 0 });
        expect(drain.refusals["runtime"]).toBeGreaterThan(0);
      },
      drainMsMax,
    );
  });
}

/** Shows what the service accounts of the product may do, and what people with Kubernetes' usual roles may do. */
export function describeRights(suite: () => Suite): void {
  describeOnCluster("rights by the API server's word", () => {
    beforeAll(() => bindTeam(suite().user));

    test.each([
      "runtime may list secrets/heliograph-config-00",
      "runtime may watch secrets/heliograph-keys-07",
      "runtime may not get secrets/heliograph-nats-auth",
      "runtime may not get secrets/signing-first",
      "runtime may not list secrets",
      "runtime may not update secrets/heliograph-config-00",
      "runtime may not list webhookpartners.heliograph.dev",
      "runtime may not get pods",
      "operator may update secrets/heliograph-config-00",
      "operator may watch secrets/heliograph-config-00",
      "operator may not create serviceaccounts/heliograph-runtime --subresource=token",
      "operator may not update secrets/signing-first",
      "operator may not delete secrets/signing-first",
      "operator may not update webhookpartners.heliograph.dev",
      "operator may not delete webhookpartners.heliograph.dev",
      "operator may not get secrets in default",
      "operator may not list secrets in kube-system",
      "operator may not create pods",
      "nats may not get secrets",
      "nats may not list pods",
    ])("of the %s", async (sentence) => {
      const { installation, user, service } = suite();
      const { who, question, isAllowed } = asked(sentence, user.namespace);
      expect(await mayDo(installation, user.namespace, `${service}-${who}`, question)).toBe(isAllowed);
    });

    test.each([
      "view may list webhookpartners.heliograph.dev",
      "view may get metriccatalogs.heliograph.dev",
      "view may watch queryclassquotas.heliograph.dev",
      "view may not create webhookpartners.heliograph.dev",
      "view may not patch metriccatalogs.heliograph.dev",
      "view may not delete queryclassquotas.heliograph.dev",
      "view may not get secrets",
      "edit may get webhookpartners.heliograph.dev",
      "edit may create webhookpartners.heliograph.dev",
      "edit may patch metriccatalogs.heliograph.dev",
      "edit may delete queryclassquotas.heliograph.dev",
      "edit may not patch webhookpartners.heliograph.dev --subresource=status",
      "edit may not create webhookpartners.heliograph.dev in default",
      "admin may update webhookpartners.heliograph.dev",
      "admin may deletecollection metriccatalogs.heliograph.dev",
      "admin may not create customresourcedefinitions.apiextensions.k8s.io",
    ])("of a user with the role %s", async (sentence) => {
      const { installation, user } = suite();
      const { who, question, isAllowed } = asked(sentence, user.namespace);
      expect(await teamMay(installation, who, question)).toBe(isAllowed);
    });
  });
}

/** A sentence such as `view may not get secrets in default`, as a question for `kubectl auth can-i`. */
function asked(sentence: string, namespace: string) {
  const [, who = "", not, verb = "", what = "", flag, elsewhere = namespace] =
    /^(\w+) may (not )?(\w+) (\S+)(?: (--\S+))?(?: in (\S+))?$/u.exec(sentence) ?? [];
  const question = [verb, what, ...(flag === undefined ? [] : [flag]), `--namespace=${elsewhere}`];
  return { who, question, isAllowed: not === undefined };
}
