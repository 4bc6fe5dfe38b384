import { afterAll, beforeAll, expect, test } from "vitest";
import { describeOnCluster } from "../cluster/describe-on-cluster.ts";
import { temporaryFolder, type TemporaryFolder } from "../support/temp-folder.ts";
import { waitFor } from "../support/wait.ts";
import type { Installation } from "./installation.ts";
import { allKept, brokenPromises, startLoad } from "./load.ts";
import { installSteps, type Shell, shellIn, typeStep } from "./page-commands.ts";
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

const longMs = 5 * 60_000;
const stepMsMax = 60_000;
const mebibyte = 1024 ** 2;
const gibibyte = 1024 ** 3;

/** Shows that an upgrade that turns an autoscaler on or off ends no pod. */
export function describeAutoscaler(suite: () => Suite): void {
  const deployments = (): string => `/apis/apps/v1/namespaces/${suite().user.namespace}/deployments`;
  const present = async (): Promise<string> => {
    const list = await suite().user.kubectl(["get", `--raw=${deployments()}?limit=1`]);
    return (JSON.parse(list) as Listed).metadata.resourceVersion;
  };
  /** Each number of pods that the runtime was asked to have since a version. */
  const wantedSince = async (resourceVersion: string): Promise<readonly number[]> => {
    const { user, service } = suite();
    const fieldSelector = `metadata.name=${service}-runtime`;
    const query = new URLSearchParams({ watch: "1", resourceVersion, fieldSelector, timeoutSeconds: "1" });
    const changes = await user.kubectl(["get", `--raw=${deployments()}?${query.toString()}`]);
    const counts = changes.trim().split("\n");
    return [...new Set(counts.map((line) => (JSON.parse(line) as Change).object.spec.replicas))];
  };
  const scale = async (replicas: number): Promise<void> => {
    const { user, service } = suite();
    await user.kubectl(["scale", `deployment/${service}-runtime`, `--replicas=${replicas}`]);
    await user.kubectl(["rollout", "status", `deployment/${service}-runtime`, "--timeout=60s"]);
  };

  describeOnCluster("an autoscaler", () => {
    test(
      "that upgrades turn on and off under load ends no pod and fails no request",
      async () => {
        const { user, service, upgrade } = suite();
        const before = await present();
        await scale(3);
        const request = { prefix: "autoscaler", eventsPerSecond: 20, queriesPerSecond: 5, seconds: 60 };
        const load = await startLoad(user, service, request);
        await upgrade({ "runtime.autoscaling.enabled": true });
        const autoscaler = ["get", `horizontalpodautoscaler/${service}-runtime`, "--ignore-not-found", "--output=name"];
        expect(await user.kubectl(autoscaler)).not.toBe("");
        expect(await upgrade({ "runtime.autoscaling.enabled": false })).toContain("keeps the 3 pods");
        expect(await user.kubectl(autoscaler)).toBe("");
        expect(await brokenPromises(user, "autoscaler", await load.stop())).toEqual(allKept);
        expect(await wantedSince(before)).toEqual([3]);
        await scale(2);
      },
      longMs,
    );
  });
}

interface Listed {
  readonly metadata: { readonly resourceVersion: string };
}

interface Change {
  readonly object: { readonly spec: { readonly replicas: number } };
}

/** Shows that NATS gets a larger volume by the commands of the pages, and keeps what it stored. */
export function describeLargerVolume(suite: () => Suite): void {
  let folder: TemporaryFolder;
  let shell: Shell;

  const claim = (): string => `persistentvolumeclaim/data-${suite().service}-nats-0`;
  const read = (what: string, path: string): Promise<string> =>
    suite().user.kubectl(["get", what, `--output=jsonpath=${path}`]);
  const patch = (what: string, change: object, ...more: readonly string[]): Promise<string> =>
    suite().user.kubectl(["patch", what, "--type=merge", "--patch", JSON.stringify(change), ...more]);
  const fileBound = async (): Promise<string | undefined> => {
    const configuration = await read(`configmap/${suite().service}-nats`, "{.data}");
    return /max_file_store: (?<bytes>\d+)/u.exec(configuration)?.groups?.["bytes"];
  };
  /** The size that the user asks for, once that is another one. */
  const askedOtherThan = (size: string): Promise<string> => {
    const asked = (): Promise<string> => read(claim(), "{.spec.resources.requests.storage}");
    return waitFor(async () => [await asked()].find((now) => now !== size), {
      timeoutMs: stepMsMax,
      pollMs: 100,
      what: "a claim for a larger volume",
    });
  };
  // No resizer runs on the node: the test grows the volume and reports its capacity in its place.
  const resize = async (storage: string): Promise<void> => {
    await patch(`persistentvolume/${await read(claim(), "{.spec.volumeName}")}`, { spec: { capacity: { storage } } });
    await patch(claim(), { status: { capacity: { storage } } }, "--subresource=status");
  };

  describeOnCluster("a larger volume for NATS", () => {
    beforeAll(async () => {
      folder = await temporaryFolder("larger-volume");
      shell = await shellIn(folder.path, suite().installation.cluster.kubeconfig);
      const storageClass = await read(claim(), "{.spec.storageClassName}");
      await patch(`storageclass/${storageClass}`, { allowVolumeExpansion: true });
    });

    afterAll(async () => {
      await folder?.remove();
    });

    test("is refused by an upgrade that applies nothing", async () => {
      const { user, upgrade, service } = suite();
      expect(await user.send("grown-event")).toBe(202);
      // Without a bound of its own it would follow the volume, and the upgrade change the ConfigMap.
      await expect(upgrade({ "nats.persistence.size": "20Gi", "nats.maxFileStore": "" })).rejects.toThrow(
        `delete statefulset ${service}-nats --cascade=orphan`,
      );
      expect(await fileBound()).toBe(String(900 * mebibyte));
    });

    test(
      "comes with the commands of the page, and holds what was stored before",
      async () => {
        const { user, service } = suite();
        const steps = await installSteps("A larger volume for NATS", user.namespace);
        const size = "nats.persistence.size=20Gi";
        expect(steps).toMatchObject([{ commands: expect.stringContaining(size) }]);
        const asked = await read(claim(), "{.spec.resources.requests.storage}");
        const uid = await read(claim(), "{.metadata.uid}");
        const typed = steps.map(({ commands, ...step }) =>
          typeStep({ ...step, commands: commands.replace(size, `${size},nats.maxFileStore=`) }, shell),
        );
        await Promise.all([...typed, askedOtherThan(asked).then(resize)]);
        await user.kubectl(["rollout", "status", `statefulset/${service}-nats`, "--timeout=90s"]);
        const template = "{.spec.volumeClaimTemplates[0].spec.resources.requests.storage}";
        expect(await read(`statefulset/${service}-nats`, template)).toBe("20Gi");
        expect(await read(claim(), "{.metadata.uid}/{.status.capacity.storage}")).toBe(`${uid}/20Gi`);
        expect(await fileBound()).toBe(String((20 * gibibyte * 4) / 5));
        // Another event of that id is refused for as long as the first one is stored.
        const answered = async (): Promise<number | undefined> =>
          [await user.send("grown-event")].find((status) => status !== 503);
        expect(await waitFor(answered, { timeoutMs: stepMsMax, pollMs: 500, what: "an answer of the API" })).toBe(409);
      },
      longMs,
    );
  });
}
