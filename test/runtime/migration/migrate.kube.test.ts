import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createKubeClient, type KubeClient } from "../../../kube/client/client.ts";
import { openClusterAccess } from "../../../kube/client/cluster-access.ts";
import { migrate } from "../../../runtime/migration/migrate.ts";
import { connectNats } from "../../../runtime/nats/connection/connect.ts";
import { chartFolder } from "../../chart/values-schema.ts";
import { type KubeApiHandle, startKubeApi } from "../../support/kube-api.ts";
import { type NatsServerHandle, startNatsServer } from "../../support/nats-server.ts";
import { resolveTool } from "../../tools/resolve.ts";
import { run } from "../../tools/run.ts";

const helmMsMax = 60_000;
const other = "nats.migration.replicas=1,nats.migration.store=b";

let api: KubeApiHandle;
let client: KubeClient;
let servers: NatsServerHandle[];
let namespace = "";
let count = 0;
let said: string[];

beforeAll(async () => {
  api = await startKubeApi();
  const access = await openClusterAccess({ path: api.kubeconfig });
  client = createKubeClient({ access, userAgent: "test", metrics: { requests: { inc: () => undefined } } });
  servers = [await startNatsServer(), await startNatsServer()];
});

afterAll(async () => {
  for (const server of servers ?? []) await server.stop();
  await client?.close();
  await api?.stop();
});

beforeEach(async () => {
  namespace = `migration-${(count += 1)}`;
  said = [];
  await helm("install", "", "--create-namespace");
});

async function helm(command: "install" | "upgrade", set: string, ...more: readonly string[]): Promise<void> {
  const values = ["--set", `crds.install=false${set === "" ? "" : `,${set}`}`];
  const where = ["--kubeconfig", api.kubeconfig, "--namespace", namespace];
  const args = [command, "heliograph", chartFolder, ...values, ...where, ...more];
  const { code, stderr } = await run(await resolveTool("helm"), args, { timeoutMs: helmMsMax });
  if (code !== 0) throw new Error(stderr);
}

async function kubectl(...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await api.kubectl(["--namespace", namespace, ...args]);
  if (code !== 0) throw new Error(stderr);
  return stdout;
}

/** No controller of StatefulSets runs here. */
async function areReady(...names: readonly string[]): Promise<void> {
  for (const name of names) {
    const patch = '--patch={"status":{"replicas":1,"readyReplicas":1}}';
    await kubectl("patch", `statefulset/${name}`, "--subresource=status", "--type=merge", patch);
  }
}

const migrated = (waitMsMax = 0): Promise<void> =>
  migrate({
    client,
    namespace,
    release: "heliograph",
    // The servers of this test have neither users nor TLS.
    forward: async ({ name }) => ({
      url: servers[name.endsWith("-b") ? 1 : 0]?.url ?? "",
      close: async () => undefined,
    }),
    say: (sentence) => said.push(sentence),
    waitMsMax,
  });

describe("a migration", () => {
  test("needs other servers, all servers ready, and no pod of the runtime", async () => {
    await expect(migrated()).rejects.toThrow("set nats.migration.replicas and nats.migration.store with helm upgrade");
    await helm("upgrade", other);
    await expect(migrated()).rejects.toThrow("0 of 1 servers of heliograph-nats are ready");
    await areReady("heliograph-nats", "heliograph-nats-b");
    const labels = "app.kubernetes.io/part-of=heliograph,app.kubernetes.io/instance=heliograph";
    const late = ["--image=none", `--labels=${labels},app.kubernetes.io/component=runtime`];
    await kubectl("run", "late", ...late);
    await expect(migrated()).rejects.toThrow("pods of the runtime still run: late");
  });

  test("records the copies, and only then the chart gives the runtime the other servers", async () => {
    const from = await connectNats({ servers: [servers[0]?.url ?? ""] });
    await from.manager.streams.add({ name: "HG_EVENTS", subjects: ["hg.evt.*.*"] });
    await from.drain();
    await helm("upgrade", other);
    expect(await kubectl("get", "deployment/heliograph-runtime", "--output=jsonpath={.spec.replicas}")).toBe("0");
    await areReady("heliograph-nats", "heliograph-nats-b");
    const finished = "nats.store=b,nats.replicas=1,nats.migration.replicas=0,settings.streams.replicas=1";
    await expect(helm("upgrade", finished)).rejects.toThrow("do not hold the stored data");

    await migrated();
    const to = await connectNats({ servers: [servers[1]?.url ?? ""] });
    const { created } = await to.manager.streams.info("HG_EVENTS");
    await to.drain();
    const record = await kubectl("get", "configmap/heliograph-streams", "--output=jsonpath={.data}");
    expect(JSON.parse(record)).toEqual({ HG_EVENTS: created });
    expect(said.at(-1)).toBe(
      `next: helm upgrade heliograph charts/heliograph --namespace ${namespace} --reuse-values --set ${finished}`,
    );
    await helm("upgrade", finished);
    const selected = "--output=jsonpath={.spec.selector.app\\.kubernetes\\.io/component}";
    expect(await kubectl("get", "service/heliograph-nats", selected)).toBe("nats-b");
    expect(await kubectl("get", "deployment/heliograph-runtime", "--output=jsonpath={.spec.replicas}")).toBe("2");
  });

  test("names a release that is not there", async () => {
    await expect(
      migrate({
        client,
        namespace,
        release: "other",
        forward: () => Promise.reject(new Error("unused")),
        say: () => {},
      }),
    ).rejects.toThrow(`there is no release other in the namespace ${namespace}`);
  });
});
