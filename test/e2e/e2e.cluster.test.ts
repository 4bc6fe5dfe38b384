import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { waitFor } from "../support/wait.ts";
import { describeOnCluster } from "../cluster/describe-on-cluster.ts";
import { nodeLayout } from "../cluster/node/layout.ts";
import { leftBehind, type MachineSnapshot, machineSnapshot } from "../cluster/node/machine-snapshot.ts";
import { providerName } from "../cluster/provider.ts";
import { temporaryFolder } from "../support/temp-folder.ts";
import { backupOf } from "./backup.ts";
import { describeDrain, describeForgedCertificate, describeRights } from "./describe-operations.ts";
import { describeNamespaces } from "./describe-namespaces.ts";
import { describeEvents } from "./describe-events.ts";
import { describeObserved, describeReads } from "./describe-reads.ts";
import { describeRules } from "./describe-rules.ts";
import { describeRunbooks } from "./describe-runbooks.ts";
import { describeAutoscaler, describeLargerVolume } from "./describe-upgrades.ts";
import {
  addedValues,
  chart,
  endInstallation,
  type Installation,
  memberOf,
  nodeValuesFile,
  productTag,
  setJson,
  startInstallation,
  suiteEnv,
  suiteValues,
} from "./installation.ts";
import { allKept, brokenPromises, fateOf, startLoad } from "./load.ts";
import { neighbours, partner, resources, signingSecret } from "./manifests.ts";
import { type BoundClient, boundClient, trusting } from "./operations.ts";
import { installSteps, shellIn, typeStep } from "./page-commands.ts";
import { grantedRights, type Right, usageOf } from "./rights.ts";
import { olderTag, upgradedAndRolledBack } from "./two-versions.ts";
import { type Received, resourceNames, type User, userOf } from "./user.ts";

const namespace = "demo";
// As documented, so that the Service of that name is there too: Kubernetes makes HELIOGRAPH_PORT of it.
const release = "heliograph";
const service = "heliograph";
const readyMsMax = 180_000;
const arriveMsMax = 120_000;
const cleanMsMax = 60_000;
/** Loads last minutes on a machine that does other things too. */
const longMs = 5 * 60_000;

const secret = (): string => randomBytes(32).toString("hex");
const keys = { first: secret(), second: secret(), third: secret(), drill: secret(), selecting: secret() };
const firstKey = { id: "first", secret: keys.first };
const selectingKey = { id: "selecting", secret: keys.selecting };

/** Everything that the chart makes and labels. */
const ownedKinds =
  "all,configmaps,secrets,serviceaccounts,roles,rolebindings," +
  "persistentvolumeclaims,poddisruptionbudgets,networkpolicies,leases";
const isNode = (await providerName(suiteEnv)) === "node";

let machineBefore: MachineSnapshot;
let installation: Installation;
let user: User;
let client: BoundClient;
const suite = () => ({ installation, user, client, service, isNode, upgrade, selectingKey });

beforeAll(async () => {
  await endInstallation(() => undefined);
  machineBefore = machineSnapshot(nodeLayout(suiteEnv).root);
  installation = await startInstallation((line) => console.log(line));
});

afterAll(async () => {
  await user?.close();
  await endInstallation((line) => console.log(line));
  if (isNode) await expectNothingLeft(machineBefore);
});

const allArrived = (ids: readonly string[], { events }: Received): boolean =>
  ids.every((id) => events[id] !== undefined);

/** Ended processes stay in the list until the machine's first process has taken note of them. */
async function expectNothingLeft(earlier: MachineSnapshot): Promise<void> {
  const { root } = nodeLayout(suiteEnv);
  const isClean = (): boolean => Object.keys(leftBehind(earlier, machineSnapshot(root))).length === 0;
  await waitFor(isClean, { timeoutMs: cleanMsMax, pollMs: 100, what: "a machine as before" }).catch(() => undefined);
  expect(leftBehind(earlier, machineSnapshot(root))).toEqual({});
  expect(existsSync(root)).toBe(false);
}

function upgrade(values: Readonly<Record<string, unknown>>): Promise<string> {
  return installation.helm([
    "upgrade",
    release,
    chart,
    "--namespace",
    namespace,
    "--reuse-values",
    "--wait",
    "--timeout=4m",
    ...setJson(values),
  ]);
}

describeOnCluster("helm install", () => {
  test("makes everything ready in a namespace that enforces the restricted standard", async () => {
    const { kubectl, helm } = installation;
    await kubectl(["create", "namespace", namespace]);
    await kubectl(["label", "namespace", namespace, "pod-security.kubernetes.io/enforce=restricted"]);
    for (const account of ["caller", "narrow"])
      await kubectl(["--namespace", namespace, "create", "serviceaccount", account]);
    await kubectl(["--namespace", namespace, "apply", "--filename=-"], neighbours(keys));
    await kubectl(["--namespace", namespace, "rollout", "status", "deployment/partner", "--timeout=60s"]);
    await kubectl(["--namespace", namespace, "rollout", "status", "deployment/store", "--timeout=60s"]);
    client = await boundClient();
    const startMs = performance.now();
    await helm([
      "install",
      release,
      chart,
      "--namespace",
      namespace,
      "--wait",
      "--timeout=2m",
      "--values",
      nodeValuesFile,
      ...setJson(trusting(client, suiteValues(namespace))),
      "--set",
      "tests.enabled=true",
    ]);
    const tookMs = performance.now() - startMs;
    console.log(`everything was ready ${Math.round(tookMs)} ms after helm install`);
    expect(tookMs).toBeLessThan(readyMsMax);
    user = await userOf(installation, namespace, service);
  });

  test("applies the three resources", async () => {
    await user.kubectl(["apply", "--filename=-"], resources(namespace, firstKey));
    const tookMs = await user.programmed();
    console.log(`the resources were programmed after ${Math.round(tookMs)} ms`);
    expect(tookMs).toBeLessThan(arriveMsMax);
  });

  test("delivers an event, signed", async () => {
    expect(await user.send("first-event")).toBe(202);
    await waitFor(async () => (await user.received()).events["first-event"], {
      timeoutMs: arriveMsMax,
      pollMs: 100,
      what: "the event at the partner",
    });
    expect(await user.received()).toMatchObject({
      events: { "first-event": 1 },
      byKey: { first: 1 },
      badSignatures: 0,
    });
  });

  test("shows its history to a token of the tenant, and not to one of another partner", async () => {
    const seen = await waitFor(
      async () => [await user.history("first-event")].find(({ body }) => body.deliveries?.[0]?.state === "delivered"),
      { timeoutMs: arriveMsMax, pollMs: 200, what: "the delivery in the history" },
    );
    expect(seen).toMatchObject({
      status: 200,
      body: { deliveries: [{ partner: `${namespace}/partner`, state: "delivered" }] },
    });
    expect((await user.history("first-event", "narrow")).status).toBe(404);
  });
});

describeReads(suite);

describeEvents(suite);

describeOnCluster("the chart's own test", () => {
  test("passes and cleans up", async () => {
    const said = await installation.helm(["test", release, "--namespace", namespace, "--timeout=2m"]);
    expect(said).toMatch(/Phase: +Succeeded/u);
    expect(
      await user.kubectl(["get", "webhookpartners,metriccatalogs,queryclassquotas,eventcatalogs", "--output=name"]),
    ).not.toContain("heliograph-test");
  });
});

describeForgedCertificate(suite);

describeOnCluster("an edit", () => {
  test("of a partner applies in every pod", async () => {
    const tookMs: number[] = [];
    for (let version = 2; version <= 6; version++) {
      await user.kubectl(["apply", "--filename=-"], partner(namespace, ["first"], `/webhooks/v${version}/payout`));
      tookMs.push(Math.round(await user.programmed(["webhookpartner/partner"])));
    }
    console.log(`edits were programmed after ${tookMs.join(", ")} ms`);
    expect(await user.send("edited-event")).toBe(202);
    await waitFor(async () => (await user.received()).events["edited-event"], {
      timeoutMs: arriveMsMax,
      pollMs: 100,
      what: "the event at the partner",
    });
    expect((await user.received()).byPath["/webhooks/v6/payout"]).toBe(1);
  });

  test("of the signing keys lets the new one sign", async () => {
    await user.kubectl(["apply", "--filename=-"], signingSecret({ id: "second", secret: keys.second }));
    await user.kubectl(["apply", "--filename=-"], partner(namespace, ["second", "first"]));
    await user.programmed(["webhookpartner/partner"]);
    expect(await user.send("rotated-event")).toBe(202);
    await waitFor(async () => (await user.received()).events["rotated-event"], {
      timeoutMs: arriveMsMax,
      pollMs: 100,
      what: "the event at the partner",
    });
    expect(await user.received()).toMatchObject({ byKey: { second: 1 }, badSignatures: 0 });
  });

  test("of a Secret that a partner names applies without an edit of the partner", async () => {
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

describeObserved(suite);

describeOnCluster("a reference that cannot be read", () => {
  const readyReason = (): Promise<string> =>
    user.kubectl([
      "get",
      "webhookpartner/partner",
      "--output=jsonpath={.status.conditions[?(@.type=='Ready')].reason}",
    ]);
  const becomes = (reason: string): Promise<boolean> =>
    waitFor(async () => (await readyReason()) === reason, {
      timeoutMs: arriveMsMax,
      pollMs: 100,
      what: `Ready to say ${reason}`,
    });
  const rename = (name: string): Promise<string> =>
    user.kubectl([
      "patch",
      "webhookpartner/partner",
      "--type=json",
      "--patch",
      JSON.stringify([{ op: "replace", path: "/spec/signing/keys/0/secretRef/name", value: name }]),
    ]);

  test(
    "loses no event: a Secret that is deleted and made again, and a name that is misspelt",
    async () => {
      const load = await startLoad(user, service, {
        prefix: "reference",
        eventsPerSecond: 20,
        queriesPerSecond: 1,
        seconds: 25,
      });
      await user.kubectl(["delete", "secret", "signing-second"]);
      await becomes("UsingLastGood");
      await user.kubectl(["apply", "--filename=-"], signingSecret({ id: "second", secret: keys.third }));
      await becomes("Ready");
      await rename("signing-secnod");
      await becomes("UsingLastGood");
      await rename("signing-second");
      await becomes("Ready");
      const { accepted, events } = await load.stop();
      const fate = await fateOf(user, "reference", accepted);
      console.log(`a reference away twice: ${JSON.stringify({ events, accepted, ...fate })}`);
      expect({ accepted, ...fate, badSignatures: (await user.received()).badSignatures }).toEqual({
        accepted: events,
        arrived: events,
        doubled: 0,
        badSignatures: 0,
      });
    },
    longMs,
  );
});

describeOnCluster("an upgrade to another number of NATS servers", () => {
  test("is refused by name, and every event is still there", async () => {
    const three = { nats: { replicas: 3 }, settings: { streams: { replicas: 3 } } };
    await expect(upgrade(three)).rejects.toThrow("nats.replicas cannot change from 1 to 3");
    // Another event of that id is refused for as long as the first one is stored.
    expect(await user.send("first-event")).toBe(409);
  });
});

describeOnCluster("under load", () => {
  test(
    "a rolling upgrade loses no event and fails no query",
    async () => {
      const load = await startLoad(user, service, {
        prefix: "upgrade",
        eventsPerSecond: 100,
        queriesPerSecond: 50,
        seconds: 75,
      });
      const startMs = performance.now();
      await upgrade({ runtime: { podAnnotations: { rolled: "once" } } });
      console.log(`the upgrade took ${Math.round(performance.now() - startMs)} ms`);
      expect(await brokenPromises(user, "upgrade", await load.stop())).toEqual(allKept);
    },
    longMs,
  );

  test(
    "pods that are killed lose no accepted event",
    async () => {
      const load = await startLoad(user, service, {
        prefix: "kill",
        eventsPerSecond: 20,
        queriesPerSecond: 5,
        seconds: 60,
      });
      await kill("runtime");
      await user.kubectl(["rollout", "status", `deployment/${service}-runtime`, "--timeout=60s"]);
      await kill("nats");
      await user.kubectl(["rollout", "status", `statefulset/${service}-nats`, "--timeout=90s"]);
      const { accepted, failures } = await load.stop();
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
      const load = await startLoad(user, service, {
        prefix: "scale",
        eventsPerSecond: 50,
        queriesPerSecond: 5,
        seconds: 60,
      });
      await scale(3);
      await scale(1);
      expect(await brokenPromises(user, "scale", await load.stop())).toEqual(allKept);
      await scale(2);
    },
    longMs,
  );

  /** Ends a part's first pod as a crash does: without a signal that it could handle. */
  async function kill(part: string): Promise<void> {
    const [pod = ""] = (
      await user.kubectl(["get", "pods", `--selector=app.kubernetes.io/component=${part}`, "--output=name"])
    ).split("\n");
    await user.kubectl(["delete", pod, "--grace-period=0", "--force", "--wait=false"]);
  }
});

describeAutoscaler(suite);

describeDrain(suite);

describeOnCluster("operators", () => {
  test("hand over: another one takes the lead when the leader is killed, and applies edits", async () => {
    const holder = (): Promise<string> =>
      user.kubectl(["get", "lease", `${service}-operator`, "--output=jsonpath={.spec.holderIdentity}"]);
    const before = await holder();
    const [leader = ""] = before.split("_");
    await user.kubectl(["delete", "pod", leader, "--grace-period=0", "--force", "--wait=false"]);
    await user.kubectl(["apply", "--filename=-"], partner(namespace, ["second", "first"], "/webhooks/v9/payout"));
    console.log(
      `an edit was programmed ${Math.round(await user.programmed(["webhookpartner/partner"]))} ms after the ` +
        "leader was killed",
    );
    expect(await holder()).not.toBe(before);
  });
});

describeOnCluster("rights", () => {
  const roles = { operator: [`${service}-operator`, `${service}-resources`], runtime: [`${service}-runtime`] } as const;

  /**
   * The first is used only after a user changed the shards by hand, or their number. The second is asked for when an
   * apply makes what is not there, which the audit calls a patch.
   */
  const unseen: readonly Right[] = ["delete secrets", "create events.k8s.io/events"];

  test.skipIf(!isNode)("that are granted are all used, and nothing else is asked for", async () => {
    for (const [part, names] of Object.entries(roles)) {
      const granted = await grantedRights(installation, namespace, names);
      const { used, refused } = usageOf(nodeLayout(suiteEnv).audit, namespace, `${service}-${part}`);
      expect({ part, unused: granted.filter((right) => !used.includes(right) && !unseen.includes(right)) }).toEqual({
        part,
        unused: [],
      });
      expect({ part, refused }).toEqual({ part, refused: [] });
    }
  });
});

describeRights(suite);

describeRunbooks(() => ({ installation, user, service, drillSecret: keys.drill }));

describeRules(suite);

describeNamespaces(suite);

describeOnCluster("a backup of JetStream", () => {
  test(
    "brings back what was accepted and not delivered, on a server that lost its volume",
    async () => {
      const folder = await temporaryFolder("backup");
      const runtime = `deployment/${service}-runtime`;
      const nats = `statefulset/${service}-nats`;
      const setPaused = (state: "Active" | "Paused"): Promise<string> =>
        user.kubectl([
          "patch",
          "webhookpartner/partner",
          "--type=merge",
          "--patch",
          JSON.stringify({ spec: { state } }),
        ]);
      await setPaused("Paused");
      await user.programmed(["webhookpartner/partner"]);
      expect(await user.send("backed-up-event")).toBe(202);
      await user.kubectl(["scale", runtime, "--replicas=0"]);
      await user.kubectl([
        "wait",
        "--for=delete",
        "pod",
        "--selector=app.kubernetes.io/component=runtime",
        "--timeout=60s",
      ]);
      const streams = await backupOf("backup", installation, user, service, folder.path);
      expect(streams).toEqual(expect.arrayContaining(["HG_EVENTS", "HG_DELIVERIES", "HG_DLQ", "HG_ATTEMPTS"]));

      await user.kubectl(["scale", nats, "--replicas=0"]);
      await user.kubectl(["wait", "--for=delete", `pod/${service}-nats-0`, "--timeout=60s"]);
      await user.kubectl(["delete", "pvc", `data-${service}-nats-0`]);
      await user.kubectl(["scale", nats, "--replicas=1"]);
      await user.kubectl(["rollout", "status", nats, "--timeout=60s"]);
      expect(await backupOf("restore", installation, user, service, folder.path)).toEqual(streams.toSorted());
      // Restored streams have other creation times than the recorded ones.
      const steps = await installSteps("Missing streams", namespace);
      expect(steps).toMatchObject([{ commands: expect.stringContaining(`configmap ${service}-streams`) }]);
      const shell = await shellIn(folder.path, installation.cluster.kubeconfig);
      for (const step of steps) await typeStep(step, shell);
      await user.kubectl(["rollout", "status", runtime, "--timeout=60s"]);
      expect((await user.received()).events["backed-up-event"]).toBeUndefined();
      await setPaused("Active");
      await waitFor(async () => (await user.received()).events["backed-up-event"], {
        timeoutMs: arriveMsMax,
        pollMs: 100,
        what: "the event of the backup",
      });
      await folder.remove();
    },
    longMs,
  );
});

// Its claim is larger than the next one could be: the volumes of the node have one size.
describeLargerVolume(suite);

describeOnCluster("uninstall and install again", () => {
  test("leaves definitions, resources, what NATS keeps, and the configuration", async () => {
    await installation.helm(["uninstall", release, "--namespace", namespace, "--wait"]);
    for (const name of resourceNames) expect(await user.kubectl(["get", name, "--output=name"])).not.toBe("");
    const left = (): Promise<string> =>
      user.kubectl(["get", ownedKinds, `--selector=app.kubernetes.io/instance=${release}`, "--output=name"]);
    const isGone = async (): Promise<boolean> => !(await left()).includes("pod/");
    await waitFor(isGone, { timeoutMs: readyMsMax, pollMs: 500, what: "the end of the pods" });
    const secrets = ["auth", "tls"].map((what) => `secret/${service}-nats-${what}\n`).join("");
    expect(await left()).toBe(`configmap/${service}-streams\n${secrets}persistentvolumeclaim/data-${service}-nats-0\n`);
    expect(await user.kubectl(["get", "secret", `${service}-config-00`, "--output=name"])).not.toBe("");
  });
});

describeOnCluster("the release before this one", () => {
  test(
    "is upgraded to this one and rolled back under load, and no event is lost",
    async () => {
      const setting = { installation, user, release, service, secret: keys.second };
      // The chart of that release makes these Secrets, and Helm lets it take over none.
      const made = `--selector=app.kubernetes.io/instance=${release},app.kubernetes.io/component=nats`;
      await user.kubectl(["delete", "secret", made]);
      const whole = { lost: 0, lostWhilePaused: 0, doubled: 0 };
      expect(await upgradedAndRolledBack(setting, () => upgrade(addedValues()))).toEqual([
        { ...whole, images: [productTag] },
        { ...whole, images: [olderTag] },
      ]);
      expect((await user.received()).badSignatures).toBe(0);
    },
    2 * longMs,
  );
});

describeOnCluster("in a namespace of one's own", () => {
  const own = "team";
  const ownRelease = "hg";
  const ownService = "hg-heliograph";
  let member: Installation;

  beforeAll(async () => {
    await installation.helm(["uninstall", release, "--namespace", namespace, "--wait"]);
    member = await memberOf(installation, own);
  });

  test(
    "a user with the rights of that namespace only installs with helm 4, with three servers of NATS and users that the namespace chose, and delivers while one of them is gone",
    { timeout: longMs },
    async () => {
      await member.kubectl(["--namespace", own, "create", "serviceaccount", "caller"]);
      await member.kubectl(["--namespace", own, "apply", "--filename=-"], neighbours(keys));
      await member.kubectl(["--namespace", own, "rollout", "status", "deployment/partner", "--timeout=60s"]);
      await member.helm4([
        "install",
        ownRelease,
        chart,
        "--namespace",
        own,
        "--wait",
        "--timeout=3m",
        ...setJson(threeServers(suiteValues(own))),
        "--set",
        "crds.install=false,admissionPolicy.enabled=false",
      ]);
      const theirs = await userOf(member, own, ownService);
      try {
        await theirs.kubectl(["apply", "--filename=-"], resources(own, firstKey));
        await theirs.programmed();
        expect(await theirs.send("team-event")).toBe(202);
        await waitFor(async () => (await theirs.received()).events["team-event"], {
          timeoutMs: arriveMsMax,
          pollMs: 100,
          what: "the event at the partner",
        });
        await theirs.kubectl(["delete", "pod", `${ownService}-nats-1`, "--grace-period=0", "--force", "--wait=false"]);
        const sent = await sentUntilBack(theirs, `${ownService}-nats-1`);
        await waitFor(async () => allArrived(sent, await theirs.received()), {
          timeoutMs: arriveMsMax,
          pollMs: 100,
          what: "every accepted event at the partner",
        });
        console.log(`${sent.length} events were accepted while a server of three was away`);
        expect(sent.length).toBeGreaterThan(0);
      } finally {
        await theirs.close();
      }
    },
  );

  /** As OpenShift fills them in: a user and a group of the namespace's range, and the group of root. */
  const chosenUsers = { runAsUser: 1_000_680_000, runAsGroup: 0, fsGroup: 1_000_680_000 };

  /** The values of an installation with a cluster of NATS. */
  function threeServers(values: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
    const { nats, settings } = values as { readonly nats: object; readonly settings: { readonly streams: object } };
    return {
      ...values,
      nats: { ...nats, replicas: 3 },
      settings: { streams: { ...settings.streams, replicas: 3 } },
      podSecurityContext: chosenUsers,
    };
  }

  /**
   * Sends events one after the other until a pod is ready again after its end. Answers the ids of those that were
   * accepted.
   */
  async function sentUntilBack(sender: User, pod: string): Promise<readonly string[]> {
    const isReady = async (): Promise<boolean> => {
      const output = '--output=jsonpath={.metadata.deletionTimestamp}/{.status.conditions[?(@.type=="Ready")].status}';
      return (await sender.kubectl(["get", "pod", pod, "--ignore-not-found", output])) === "/True";
    };
    await waitFor(async () => !(await isReady()), { timeoutMs: arriveMsMax, pollMs: 50, what: `the end of ${pod}` });
    const accepted: string[] = [];
    const sendOne = async (): Promise<void> => {
      const id = `while-away-${accepted.length}`;
      if ((await sender.send(id)) === 202) accepted.push(id);
    };
    await sendOne();
    await waitFor(
      async () => {
        await sendOne();
        return isReady();
      },
      { timeoutMs: readyMsMax, pollMs: 100, what: `${pod} to be ready again` },
    );
    return accepted;
  }

  test("they can do nothing elsewhere", async () => {
    await expect(member.kubectl(["--namespace", namespace, "get", "secrets"])).rejects.toThrow("forbidden");
    await expect(member.kubectl(["get", "nodes"])).rejects.toThrow("forbidden");
    await expect(
      member.helm([
        "install",
        "x",
        chart,
        "--namespace",
        own,
        "--set",
        "watch.allNamespaces=true,policy.acceptOpenGrants=true,crds.install=false,admissionPolicy.enabled=false",
      ]),
    ).rejects.toThrow("forbidden");
  });
});
