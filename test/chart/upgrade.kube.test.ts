import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type KubeApiHandle, startKubeApi } from "../support/kube-api.ts";
import { resolveTool } from "../tools/resolve.ts";
import { run } from "../tools/run.ts";
import { chartFolder } from "./values-schema.ts";

const helmMsMax = 60_000;
const [three, one] = ["nats.replicas=3,settings.streams.replicas=3", "nats.replicas=1,settings.streams.replicas=1"];

let api: KubeApiHandle;

beforeAll(async () => {
  api = await startKubeApi();
});

afterAll(async () => {
  await api?.stop();
});

/**
 * Runs helm on the release `heliograph`, as documented; answers what it printed. @throws Error with what it complained
 * about
 */
async function helm(command: "install" | "upgrade" | "uninstall", namespace: string, set = ""): Promise<string> {
  const chart =
    command === "uninstall" ? [] : [chartFolder, "--set", `crds.install=false${set === "" ? "" : `,${set}`}`];
  const where = [
    "--kubeconfig",
    api.kubeconfig,
    "--namespace",
    namespace,
    ...(command === "install" ? ["--create-namespace"] : []),
  ];
  const { code, stdout, stderr } = await run(await resolveTool("helm"), [command, "heliograph", ...chart, ...where], {
    timeoutMs: helmMsMax,
  });
  if (code !== 0) throw new Error(stderr);
  return stdout;
}

/** As the StatefulSet's controller makes it, which does not run here. */
async function volume(namespace: string, index: number): Promise<void> {
  const spec = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } };
  const claim = {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: { name: `data-heliograph-nats-${index}` },
    spec,
  };
  const { code, stderr } = await api.kubectl(
    ["--namespace", namespace, "create", "--filename=-"],
    JSON.stringify(claim),
  );
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
}

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

describe("what helm says after an installation", () => {
  test("warns that watch.namespaces replaces the release's namespace", async () => {
    await api.kubectl(["create", "namespace", "shop"]);
    const warning = "watch.namespaces replaces the release's namespace: resources in elsewhere do not apply";
    expect(await helm("install", "elsewhere", "watch.namespaces={shop}")).toContain(warning);
    const said = await helm("upgrade", "elsewhere", "watch.namespaces={shop,elsewhere},policy.acceptOpenGrants=true");
    expect(said).not.toContain(warning);
    expect(said).toContain("every watched namespace may name every tenant");
    await helm("uninstall", "elsewhere");
  });
});
