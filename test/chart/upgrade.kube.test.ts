import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type KubeApiHandle, startKubeApi } from "../support/kube-api.ts";
import { resolveTool } from "../tools/resolve.ts";
import { run } from "../tools/run.ts";
import { installSteps, outputOf, shellIn } from "../e2e/page-commands.ts";
import { unpackPreviousRelease } from "../e2e/previous-release.ts";
import { temporaryFolder } from "../support/temp-folder.ts";
import { commandBlocks } from "../pages/command-blocks.ts";
import { chartFolder } from "./values-schema.ts";

const helmMsMax = 60_000;
const [three, one] = ["nats.replicas=3,settings.streams.replicas=3", "nats.replicas=1,settings.streams.replicas=1"];

let api: KubeApiHandle;

beforeAll(async () => {
  api = await startKubeApi();
  await kubectl(["create", "--filename=-"], {
    apiVersion: "storage.k8s.io/v1",
    kind: "StorageClass",
    metadata: { name: "grows" },
    provisioner: "example.com/none",
    allowVolumeExpansion: true,
  });
});

afterAll(async () => {
  await api?.stop();
});

/**
 * Runs helm on the release `heliograph`, as documented; answers what it printed. @throws Error with what it complained
 * about
 */
async function helm(
  command: "install" | "upgrade" | "rollback" | "uninstall",
  namespace: string,
  set = "",
  program: "helm" | "helm4" = "helm",
  more: readonly string[] = [],
  folder = chartFolder,
): Promise<string> {
  const hasChart = command === "install" || command === "upgrade";
  const chart = hasChart ? [folder, "--set", `crds.install=false${set === "" ? "" : `,${set}`}`] : [];
  const where = [
    "--kubeconfig",
    api.kubeconfig,
    "--namespace",
    namespace,
    ...(command === "install" ? ["--create-namespace"] : []),
  ];
  const { code, stdout, stderr } = await run(
    await resolveTool(program),
    [command, "heliograph", ...chart, ...where, ...more],
    {
      timeoutMs: helmMsMax,
    },
  );
  if (code !== 0) throw new Error(stderr);
  return stdout;
}

async function kubectl(args: readonly string[], stdin?: object): Promise<string> {
  const { code, stdout, stderr } = await api.kubectl(args, stdin === undefined ? "" : JSON.stringify(stdin));
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return stdout;
}

/** As the StatefulSet's controller makes it, which does not run here. */
async function volume(namespace: string, index: number, storage = "10Gi"): Promise<void> {
  const spec = { accessModes: ["ReadWriteOnce"], storageClassName: "grows", resources: { requests: { storage } } };
  const metadata = { name: `data-heliograph-nats-${index}` };
  const where = ["--namespace", namespace];
  await kubectl([...where, "create", "--filename=-"], {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata,
    spec,
  });
  await bound(namespace, metadata.name, storage);
}

/** As a controller of volumes reports it. */
async function bound(namespace: string, claim: string, storage: string): Promise<void> {
  const patch = JSON.stringify({ status: { phase: "Bound", capacity: { storage } } });
  await kubectl(["--namespace", namespace, "patch", "pvc", claim, "--subresource=status", `--patch=${patch}`]);
}

const fileBound = async (namespace: string): Promise<string | undefined> => {
  const conf = await kubectl(["--namespace", namespace, "get", "configmap/heliograph-nats", "--output=yaml"]);
  return /max_file_store: (?<bytes>\d+)/u.exec(conf)?.groups?.["bytes"];
};
const fourFifths = (gibibytes: number): string => String((gibibytes * 1024 ** 3 * 4) / 5);

const refusalOf = (namespace: string, set: string): Promise<string> =>
  helm("upgrade", namespace, set).then(() => "not refused", String);

const linesOf = (refusal: string): readonly string[] =>
  refusal.split("\n").filter((line) => line.startsWith("  kubectl --namespace "));

/** The commands of kubectl that a refusal prints: the verb and what follows it. */
function stepsOf(refusal: string): readonly (readonly string[])[] {
  return linesOf(refusal).map((line) => {
    const words = [...line.matchAll(/(?:[^\s']|'[^']*')+/gu)].map(([word]) => word.replaceAll("'", ""));
    return words.slice(3);
  });
}

describe("a watched namespace that is missing", () => {
  const watch = "watch.namespaces={shop,gone},policy.acceptOpenGrants=true";
  const roles = async (namespace: string): Promise<string> =>
    await kubectl(["--namespace", namespace, "get", "role,rolebinding", "--output=name"]);

  test("is skipped by an upgrade with a note, and gets its rights when it is back", async () => {
    for (const name of ["shop", "gone"]) await kubectl(["create", "namespace", name]);
    expect(await helm("install", "tenants", watch)).not.toContain("do not exist");
    const before = await roles("gone");
    expect(before).toContain("tenants:heliograph:resources");
    // Nothing ends what terminates here; the API server refuses new objects in it, as in one that is gone.
    await kubectl(["delete", "namespace", "gone", "--wait=false"]);
    await kubectl(["--namespace", "gone", "delete", "role,rolebinding", "tenants:heliograph:resources"]);
    const notes = await helm("upgrade", "tenants", watch);
    expect(notes).toContain("these watched namespaces do not exist, so nothing was applied there: gone.");
    expect(await roles("shop")).toBe(before);
    expect(await roles("gone")).toBe("");
    await kubectl(["replace", "--raw=/api/v1/namespaces/gone/finalize", "--filename=-"], {
      apiVersion: "v1",
      kind: "Namespace",
      metadata: { name: "gone" },
      spec: { finalizers: [] },
    });
    expect(await helm("upgrade", "tenants", watch)).toContain("applied there: gone.");
    await kubectl(["create", "namespace", "gone"]);
    expect(await helm("upgrade", "tenants", watch)).not.toContain("do not exist");
    expect(await roles("gone")).toBe(before);
  });
});

describe("the number of NATS servers", () => {
  test("cannot be changed by an upgrade, and what runs is left as it is", async () => {
    await helm("install", "single");
    await expect(helm("upgrade", "single", three)).rejects.toThrow("nats.replicas cannot change from 1 to 3");
    await helm("upgrade", "single", "runtime.replicas=3");
    const { stdout } = await api.kubectl([
      "--namespace",
      "single",
      "get",
      "statefulset/heliograph-nats",
      "--output=jsonpath={.spec.replicas}",
    ]);
    expect(stdout).toBe("1");

    await helm("install", "cluster", three);
    await expect(helm("upgrade", "cluster", one)).rejects.toThrow("nats.replicas cannot change from 3 to 1");
  });

  test("counts although the servers are scaled to none at the moment", async () => {
    await helm("install", "scaled");
    await api.kubectl(["--namespace", "scaled", "scale", "statefulset/heliograph-nats", "--replicas=0"]);
    await expect(helm("upgrade", "scaled", three)).rejects.toThrow("nats.replicas cannot change from 1 to 3");
  });

  test("counts for as long as its volumes are there, also after an uninstall", async () => {
    await api.kubectl(["create", "namespace", "kept"]);
    await volume("kept", 0);
    await expect(helm("install", "kept", three)).rejects.toThrow(
      "delete the PersistentVolumeClaims data-heliograph-nats-0 and so on",
    );
    await volume("kept", 1);
    await expect(helm("install", "kept", one)).rejects.toThrow("nats.replicas cannot change from 3 to 1");
    await helm("install", "kept", three);
    await helm("uninstall", "kept");
  });
});

describe("the volume of NATS", () => {
  const grown = "nats.persistence.storageClass=grows,nats.persistence.size=20Gi";

  test("is not changed by an upgrade, which prints how to grow it; the bound on files follows what it grew to", async () => {
    await helm("install", "volume", "nats.persistence.storageClass=grows");
    await volume("volume", 0);
    const refusal = await refusalOf("volume", grown);
    const page =
      commandBlocks("docs/how-to/install.md").find(({ text }) => text.includes("--cascade=orphan"))?.text ?? "";
    expect(
      page
        .replace(/ \\\n +/gu, " ")
        .split("\n")
        .slice(0, -2),
    ).toEqual(linesOf(refusal).map((line) => line.trim().replace("--namespace volume", "--namespace heliograph")));
    const steps = stepsOf(refusal);
    expect(steps.map(([verb]) => verb)).toEqual(["patch", "wait", "delete"]);
    expect(await fileBound("volume")).toBe(fourFifths(10));

    const [patch = [], wait = [], remove = []] = steps.map(([, ...args]) => args);
    const where = ["--namespace", "volume"];
    await kubectl([...where, "patch", ...patch]);
    expect(await refusalOf("volume", grown)).toContain("Nothing was applied");
    await bound("volume", "data-heliograph-nats-0", "20Gi");
    await kubectl([...where, "wait", ...wait]);
    expect(stepsOf(await refusalOf("volume", grown)).map(([verb]) => verb)).toEqual(["delete"]);
    // No controller runs here that would orphan pods.
    await kubectl([...where, "delete", ...remove.map((arg) => arg.replace("orphan", "background"))]);
    await helm("upgrade", "volume", grown);
    expect(await fileBound("volume")).toBe(fourFifths(20));
    const template = "{.spec.volumeClaimTemplates[0].spec.resources.requests.storage}";
    expect(await kubectl([...where, "get", "statefulset/heliograph-nats", `--output=jsonpath=${template}`])).toBe(
      "20Gi",
    );
    await helm("upgrade", "volume", `${grown},runtime.replicas=3`);
    expect(await refusalOf("volume", "nats.persistence.storageClass=grows")).toContain("no volume shrinks");
  });

  test("has the bound on files that it can hold, whatever the values say", async () => {
    await kubectl(["create", "namespace", "small"]);
    await volume("small", 0, "5Gi");
    const streams = "settings.streams.events.maxBytes=1048576,settings.streams.deliveries.maxBytes=1048576";
    await expect(helm("install", "small", `${grown},${streams}`)).rejects.toThrow("grow them");
    await helm("install", "small", `nats.persistence.storageClass=grows,nats.persistence.size=5Gi,${streams}`);
    expect(await fileBound("small")).toBe(fourFifths(5));
  });

  test.each([
    ["storageClass", "nats.persistence.storageClass=fast", 'storageClass cannot change from "" to "fast"'],
    ["enabled", "nats.persistence.enabled=false", "persistence.enabled cannot change from true to false"],
    ["annotations", "nats.persistence.annotations.team=a", "persistence.annotations cannot change"],
    ["size", "nats.persistence.size=20Gi", "nats.persistence.size is 20Gi"],
    ["nameOverride", "nameOverride=bird", "nameOverride=heliograph and fullnameOverride=heliograph"],
    ["fullnameOverride", "fullnameOverride=bird", "nameOverride=heliograph and fullnameOverride=heliograph"],
    ["ipFamilies", "services.ipFamilies={IPv6}", "services.ipFamilies cannot begin with IPv6"],
    [
      "loadBalancerClass",
      "runtime.service.type=LoadBalancer,runtime.service.loadBalancerClass=b",
      'runtime.service.loadBalancerClass cannot change from "a" to "b"',
    ],
    [
      "nameOverride where the names stay",
      "nameOverride=bird,fullnameOverride=heliograph",
      "its pods are labelled heliograph",
    ],
  ])("keeps an upgrade with another %s from applying anything", async (_value, set, sentence) => {
    const balanced = "runtime.service.type=LoadBalancer,runtime.service.loadBalancerClass=a";
    await helm("install", "immutable", balanced).catch(() => undefined);
    await expect(helm("upgrade", "immutable", `${set},commonLabels.half=applied`)).rejects.toThrow(sentence);
    const labelled = await kubectl(["--namespace", "immutable", "get", "all,cm", "--selector=half", "--output=name"]);
    expect(labelled).toBe("");
  });

  test("may be another for servers that a migration fills, while the present ones keep theirs", async () => {
    await helm("install", "moving");
    const move = "nats.migration.replicas=1,nats.migration.store=b,nats.persistence.storageClass=fast";
    await helm("upgrade", "moving", `${move},nats.persistence.size=5Gi`);
    const claims =
      "{range .items[*]}{.metadata.name} {.spec.volumeClaimTemplates[0].spec.storageClassName} " +
      "{.spec.volumeClaimTemplates[0].spec.resources.requests.storage}{'\\n'}{end}";
    const sets = await kubectl(["--namespace", "moving", "get", "statefulsets", `--output=jsonpath=${claims}`]);
    expect(sets.trim().split("\n")).toEqual(["heliograph-nats  10Gi", "heliograph-nats-b fast 5Gi"]);
  });
});

describe("the Secrets that the chart makes for NATS", () => {
  const [auth, tls] = ["secret/heliograph-nats-auth", "secret/heliograph-nats-tls"];
  const data = async (namespace: string, secret: string): Promise<string> =>
    await kubectl(["--namespace", namespace, "get", secret, "--output=jsonpath={.data}"]);
  const rotate = async (namespace: string): Promise<void> => {
    const patch = JSON.stringify({ stringData: { runtime: "rotated", "runtime-user": "runtime-2" } });
    await kubectl(["--namespace", namespace, "patch", auth, `--patch=${patch}`]);
  };

  test.each(["helm", "helm4"] as const)(
    "keep rotated passwords and renewed certificates when %s upgrades, rolls back and installs again",
    async (program) => {
      const namespace = `secrets-by-${program}`;
      await helm("install", namespace, "", program);
      const [firstAuth, firstTls] = [await data(namespace, auth), await data(namespace, tls)];
      await helm("upgrade", namespace, "runtime.replicas=3", program);
      expect([await data(namespace, auth), await data(namespace, tls)]).toEqual([firstAuth, firstTls]);

      await rotate(namespace);
      await kubectl(["--namespace", namespace, "delete", tls]);
      await helm("upgrade", namespace, "runtime.replicas=4", program);
      const [rotated, renewed] = [await data(namespace, auth), await data(namespace, tls)];
      expect(rotated).toContain(Buffer.from("rotated").toString("base64"));
      expect(renewed).not.toBe(firstTls);
      await helm("rollback", namespace, "", program, ["1"]);
      expect([await data(namespace, auth), await data(namespace, tls)]).toEqual([rotated, renewed]);

      await helm("uninstall", namespace, "", program);
      await helm("install", namespace, "", program);
      expect([await data(namespace, auth), await data(namespace, tls)]).toEqual([rotated, renewed]);
    },
  );

  test("take the commands of the page any number of times: the previous user is always the one in use", async () => {
    await helm("install", "rotating");
    const folder = await temporaryFolder("rotating");
    const decoded = async (): Promise<Record<string, string>> => {
      const entries = Object.entries(JSON.parse(await data("rotating", auth)) as Record<string, string>);
      return Object.fromEntries(entries.map(([name, value]) => [name, Buffer.from(value, "base64").toString()]));
    };
    try {
      const shell = await shellIn(folder.path, api.kubeconfig);
      const [change, , end] = await installSteps("Passwords of NATS", "rotating");
      for (const _round of [1, 2]) {
        const before = await decoded();
        await outputOf(change?.commands ?? "", shell);
        const after = await decoded();
        expect(after).toMatchObject({
          "runtime-previous-user": before["runtime-user"] ?? "runtime",
          "runtime-previous": before["runtime"],
        });
        expect(after["runtime-user"]).not.toBe(after["runtime-previous-user"]);
        expect(after["runtime"]).not.toBe(before["runtime"]);
        await outputOf(end?.commands ?? "", shell);
        expect(await decoded()).not.toHaveProperty("runtime-previous");
      }
    } finally {
      await folder.remove();
    }
  });

  test("get an entry that they lack, and keep the others", async () => {
    await helm("install", "lacking");
    await rotate("lacking");
    await kubectl(["--namespace", "lacking", "patch", auth, '--patch={"data":{"system":null}}']);
    const before = JSON.parse(await data("lacking", auth)) as Record<string, string>;
    await helm("upgrade", "lacking");
    expect(JSON.parse(await data("lacking", auth))).toEqual({ ...before, system: expect.any(String) });
  });

  test("stay a part of a release whose older chart made them so", async () => {
    await helm("install", "owned");
    const owner = ["meta.helm.sh/release-name=heliograph", "meta.helm.sh/release-namespace=owned"];
    for (const secret of [auth, tls]) await kubectl(["--namespace", "owned", "annotate", secret, ...owner]);
    const before = [await data("owned", auth), await data("owned", tls)];
    for (const replicas of [3, 4]) {
      await helm("upgrade", "owned", `runtime.replicas=${replicas}`);
      expect([await data("owned", auth), await data("owned", tls)]).toEqual(before);
    }
  });
});

describe("the record of the streams", () => {
  const where = ["--namespace", "recorded"];
  const names = async (): Promise<string> =>
    await kubectl([
      ...where,
      "get",
      "configmaps",
      "--selector=app.kubernetes.io/component=runtime",
      "--output=jsonpath={.items[*].metadata.name}",
    ]);

  test("has a name that no value changes, and refuses other names and streams, also after an uninstall", async () => {
    await helm("install", "recorded", "fullnameOverride=bird");
    expect(await names()).toBe("bird-settings heliograph-streams");
    const args = "{.spec.template.spec.containers[0].args}";
    expect(await kubectl([...where, "get", "deployment/bird-runtime", `--output=jsonpath=${args}`])).toContain(
      "--stream-record=heliograph-streams",
    );
    await kubectl([...where, "patch", "configmap/heliograph-streams", '--patch={"data":{"HG_EVENTS":"t"}}']);
    await expect(helm("upgrade", "recorded", "fullnameOverride=bird,settings.streams.prefix=x")).rejects.toThrow(
      "settings.streams.prefix cannot change to x: the accepted events are in HG_EVENTS",
    );
    await helm("uninstall", "recorded");
    await expect(helm("install", "recorded")).rejects.toThrow("fullnameOverride=bird");
    await helm("install", "recorded", "fullnameOverride=bird");
  });

  test("stays under the name that an older chart gave it", async () => {
    const metadata = {
      name: "bird-streams",
      namespace: "older",
      labels: { "app.kubernetes.io/managed-by": "Helm" },
      annotations: { "meta.helm.sh/release-name": "heliograph", "meta.helm.sh/release-namespace": "older" },
    };
    await kubectl(["create", "namespace", "older"]);
    await kubectl(["create", "--filename=-"], { apiVersion: "v1", kind: "ConfigMap", metadata });
    await helm("install", "older", "fullnameOverride=bird");
    const missing = await api.kubectl(["--namespace", "older", "get", "configmap/heliograph-streams"]);
    expect(missing.stderr).toContain("not found");
  });
});

describe("the deprecated number of processes", () => {
  const argsOf = async (namespace: string): Promise<readonly string[]> => {
    const path = "--output=jsonpath={.spec.template.spec.containers[0].args}";
    return JSON.parse(
      await kubectl(["--namespace", namespace, "get", "deployment/heliograph-runtime", path]),
    ) as string[];
  };

  test.each([
    ["one", "helm", "", "--processes=1"],
    ["auto", "helm4", "runtime.processes=auto", "--processes=auto"],
  ] as const)(
    "comes with an upgrade that reuses the values of the release before, with a warning: %s, %s",
    async (name, program, set, flag) => {
      const namespace = `processes-${name}`;
      const folder = await temporaryFolder("previous");
      try {
        const { chart } = await unpackPreviousRelease(folder.path);
        await helm("install", namespace, set, program, [], chart);
        expect(await argsOf(namespace)).toContain(flag);
      } finally {
        await folder.remove();
      }
      const warning = "WARNING: runtime.processes is deprecated and has no effect";
      expect(await helm("upgrade", namespace, "", program, ["--reuse-values"])).toContain(warning);
      expect(await argsOf(namespace)).toContain(flag);
      const reset = ["--reset-then-reuse-values"];
      expect(await helm("upgrade", namespace, "runtime.processes=null", program, reset)).not.toContain(warning);
      expect((await argsOf(namespace)).filter((arg) => arg.startsWith("--processes"))).toEqual([]);
    },
  );

  test.each(["0", "65", "all"])("is refused as before: %s", async (count) => {
    const refused = helm("install", "processes-refused", `runtime.processes=${count}`);
    await expect(refused).rejects.toThrow(/- at '\/runtime\/processes': 'anyOf' failed\n.*\n.* value must be 'auto'/u);
  });
});

describe("the number of runtime pods", () => {
  const deployment = "deployment/heliograph-runtime";

  test.each(["helm", "helm4"] as const)(
    "stays what it is in an upgrade by %s that gives it to an autoscaler, and takes it back",
    async (program) => {
      const namespace = `scaled-by-${program}`;
      const where = ["--namespace", namespace];
      const replicas = (): Promise<string> =>
        kubectl([...where, "get", deployment, "--output=jsonpath={.spec.replicas}"]);
      const scaling = "runtime.autoscaling.enabled=true,runtime.autoscaling.minReplicas=3";
      await helm("install", namespace, "runtime.replicas=4", program);
      await helm("upgrade", namespace, scaling, program);
      expect(await replicas()).toBe("4");
      await kubectl([...where, "scale", deployment, "--replicas=6"]);
      await helm("upgrade", namespace, `${scaling},runtime.logLevel=warn`, program);
      expect(await replicas()).toBe("6");

      expect(await helm("upgrade", namespace, "runtime.replicas=4", program)).toContain("keeps the 6 pods");
      expect(await replicas()).toBe("6");
      // Helm 4 shares the field with who scaled last.
      const forced = program === "helm4" ? ["--force-conflicts"] : [];
      expect(await helm("upgrade", namespace, "runtime.replicas=4", program, forced)).not.toContain("keeps the");
      expect(await replicas()).toBe("4");
    },
  );

  test("is the least number of the autoscaler after a migration, which leaves none", async () => {
    const where = ["--namespace", "scaled-and-moved"];
    const scaling = "runtime.autoscaling.enabled=true,runtime.autoscaling.minReplicas=3";
    await helm("install", "scaled-and-moved", scaling);
    await helm("upgrade", "scaled-and-moved", `${scaling},nats.migration.replicas=1,nats.migration.store=b`);
    await helm("upgrade", "scaled-and-moved", scaling);
    expect(await kubectl([...where, "get", deployment, "--output=jsonpath={.spec.replicas}"])).toBe("3");
  });

  test("stays with an autoscaler that the chart did not make, as KEDA's", async () => {
    const where = ["--namespace", "foreign-autoscaler"];
    await helm("install", "foreign-autoscaler");
    await kubectl([...where, "autoscale", deployment, "--name=keda-hpa-other", "--min=2", "--max=9", "--cpu=50%"]);
    await kubectl([...where, "scale", deployment, "--replicas=7"]);
    await helm("upgrade", "foreign-autoscaler", "runtime.logLevel=warn");
    expect(await kubectl([...where, "get", deployment, "--output=jsonpath={.spec.replicas}"])).toBe("7");
  });
});

describe("what helm says after an installation", () => {
  test("warns that watch.namespaces replaces the release's namespace", async () => {
    await api.kubectl(["create", "namespace", "shop"]);
    const warning = "watch.namespaces does not include the release namespace: resources in elsewhere are not applied";
    expect(await helm("install", "elsewhere", "watch.namespaces={shop}")).toContain(warning);
    const said = await helm("upgrade", "elsewhere", "watch.namespaces={shop,elsewhere},policy.acceptOpenGrants=true");
    expect(said).not.toContain(warning);
    expect(said).toContain("all watched namespaces may use all tenants");
    expect(said).toContain("Catalogs of the namespaces * may use stores on any host");
    const hosts = "policy.grants[0].namespaces={*},policy.grants[0].storeHosts={prometheus.shop}";
    expect(await helm("upgrade", "elsewhere", hosts)).not.toContain("stores on any host");
    await helm("uninstall", "elsewhere");
  });
});
