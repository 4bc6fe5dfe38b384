import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Installation } from "./installation.ts";
import type { User } from "./user.ts";

// The addresses of the node are constants of modules, so this file loads them with the other family.
process.env["HELIOGRAPH_CLUSTER_FAMILY"] = "IPv6";
const { describeOnCluster } = await import("../cluster/describe-on-cluster.ts");
const { providerName } = await import("../cluster/provider.ts");
const { applyDefinitions, chart, endInstallation, setJson, startInstallation, suiteEnv, suiteValues } =
  await import("./installation.ts");
const { fateOf, startLoad } = await import("./load.ts");
const { neighbours, resources } = await import("./manifests.ts");
const { userOf } = await import("./user.ts");

const namespace = "six";
const release = "heliograph";
const key = { id: "first", secret: randomBytes(32).toString("hex") };
const longMs = 5 * 60_000;
const isNode = (await providerName(suiteEnv)) === "node";

let installation: Installation;
let user: User;

describeOnCluster("a cluster with addresses of IPv6 only", () => {
  beforeAll(async () => {
    if (!isNode) return;
    await endInstallation(() => undefined);
    installation = await startInstallation((line) => console.log(line));
  });

  afterAll(async () => {
    await user?.close();
    if (isNode) await endInstallation((line) => console.log(line));
  });

  test.skipIf(!isNode)(
    "runs the chart with three servers of NATS, whose test passes",
    { timeout: longMs },
    async () => {
      const { helm, kubectl } = installation;
      await applyDefinitions(installation);
      await kubectl(["create", "namespace", namespace]);
      const inNamespace = (args: readonly string[], stdin?: object): Promise<string> =>
        kubectl(["--namespace", namespace, ...args], stdin);
      await inNamespace(["create", "serviceaccount", "caller"]);
      await inNamespace(["apply", "--filename=-"], neighbours({ [key.id]: key.secret }));
      const where = ["--namespace", namespace];
      const values = ["nats.replicas=3", "settings.streams.replicas=3", "tests.enabled=true", "crds.install=false"];
      const own = ["--set", values.join(",")];
      await helm([
        "install",
        release,
        chart,
        ...where,
        "--wait",
        "--timeout=4m",
        ...setJson(suiteValues(namespace)),
        ...own,
      ]);
      expect(await helm(["test", release, ...where, "--timeout=2m"])).toContain("Phase:          Succeeded");
      const addresses = await inNamespace([
        "get",
        "pods,services",
        "--output=jsonpath={.items[*].status.podIPs[*].ip}",
      ]);
      expect(addresses.split(" ").filter((address) => !address.startsWith("fd00:"))).toEqual([]);
    },
  );

  test.skipIf(!isNode)("delivers every event, and applies every resource", { timeout: longMs }, async () => {
    user = await userOf(installation, namespace, release);
    await user.kubectl(["apply", "--filename=-"], resources(namespace, key));
    await user.programmed();
    const load = await startLoad(user, release, {
      prefix: "six",
      eventsPerSecond: 20,
      queriesPerSecond: 1,
      seconds: 10,
    });
    const { accepted, events, failures } = await load.report();
    const fate = await fateOf(user, "six", accepted);
    expect({ accepted, failures, ...fate }).toEqual({ accepted: events, failures: {}, arrived: events, doubled: 0 });
  });
});
