import { dirname } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { waitFor } from "../../support/wait.ts";
import { resolveTool } from "../../tools/resolve.ts";
import { run } from "../../tools/run.ts";
import { runbooks } from "../alerts/runbooks.ts";
import { chartFolder } from "../values-schema.ts";
import { exprOf } from "./grafana.ts";
import { type MonitoredInstallation, startMonitoredInstallation } from "./monitored-installation.ts";
import { dashboardPlans } from "./plans.ts";
import { type InstantSeries, instantQuery, metricNames, parsed, runningRules, selectorsOf } from "./prometheus-api.ts";

/** What may pass on a slow machine until every series is scraped. */
const patience = { timeoutMs: 40_000, pollMs: 500 };

const commandMsMax = 60_000;

/** Metrics without a series in this installation. A promtool test shows the alerts that need them. */
const emptyHere: Readonly<Record<string, string>> = {
  'heliograph_webhook_ingest_total{outcome="taken"}': "no tenant took the id of another",
  'heliograph_http_requests_total{route="/events",status=~"5.."}': "no event was refused",
  'heliograph_http_requests_total{route=~"/v1/metrics/.*",status=~"5.."}': "no query failed",
  'heliograph_store_reads_total{outcome!="ok"}': "the store works",
  'heliograph_resources{status="False",type="Ready"}': "every resource is ready",
  'heliograph_resources{status="False",type="RulesWritten"}': "the operator writes no rules",
  'heliograph_catalog_metrics{status="False"}': "comparing a catalog with its stores takes five minutes",
  "heliograph_nats_cluster_leader_known{}": "one server is no cluster",
  "heliograph_nats_memory_limit_bytes{}": "the chart sets GOMEMLIMIT",
};

const emptyNames = new Set(Object.keys(emptyHere).map((short) => short.split("{")[0]));

/** Labels by which rules group and that this setup lacks: of several clusters, and of partners' certificates. */
const labelsElsewhere: Readonly<Record<string, readonly string[]>> = {
  'heliograph_expiry_timestamp_seconds{kind!="signing_key"}': ["cluster", "partner"],
};
const labelsElsewhereDefault = ["cluster"];

let installation: MonitoredInstallation;

beforeAll(async () => {
  installation = await startMonitoredInstallation();
  await installation.cause();
});

afterAll(async () => {
  await installation?.stop();
});

/** A query of a dashboard with the choices of a reader, over the short time that this installation has. */
function chosen(expr: string): string {
  return expr
    .replaceAll("$namespace", "demo")
    .replaceAll("$release", "hg")
    .replaceAll('partner="$partner"', 'partner=~"test-1/.*"')
    .replaceAll("$__rate_interval", "1m");
}

/** Causes traffic until a query has data. */
async function dataOf(query: string): Promise<readonly InstantSeries[]> {
  return waitFor(
    async () => {
      const found = await instantQuery(installation.prometheusUrl, query);
      if (found.length === 0) await installation.cause();
      return found.some(({ value: [, value] }) => value !== "NaN") ? found : undefined;
    },
    { ...patience, what: query },
  );
}

describe.each(dashboardPlans)("the dashboard of $title", ({ panels }) => {
  const queries = panels.flatMap((panel) =>
    panel.queries.map((query) => [panel.title, chosen(exprOf(query))] as const),
  );

  test.each(queries)("has data for %s: %s", async (_title, query) => {
    expect((await dataOf(query)).length).toBeGreaterThan(0);
  });
});

describe("the rules of the chart", () => {
  test("are evaluated by a real Prometheus without an error", async () => {
    const rules = await waitFor(
      async () => {
        const all = await runningRules(installation.prometheusUrl);
        return all.length > 20 && all.every(({ health }) => health !== "unknown") ? all : undefined;
      },
      { ...patience, what: "the evaluation of every rule" },
    );
    expect(rules.filter(({ health }) => health !== "ok")).toEqual([]);
  });

  test("select series that exist, and group by labels that these have", async () => {
    const faults: string[] = [];
    const used = new Set<string>();
    for (const { name, query } of await runningRules(installation.prometheusUrl)) {
      for (const { selector, short, labels } of selectorsOf(await parsed(installation.prometheusUrl, query))) {
        used.add(short);
        const found = short in emptyHere ? [] : await dataOf(selector);
        const elsewhere = labelsElsewhere[short] ?? labelsElsewhereDefault;
        const missing = labels.filter(
          (label) => !elsewhere.includes(label) && !found.some(({ metric }) => label in metric),
        );
        if (found.length > 0 && missing.length > 0)
          faults.push(`${name}: ${selector} has no label ${missing.join(", ")}`);
      }
    }
    expect(faults).toEqual([]);
    expect(Object.keys(emptyHere).filter((short) => !used.has(short))).toEqual([]);
  });

  test("raise the alert for a dead letter within seconds", async () => {
    const found = await dataOf('ALERTS{alertname="HeliographDeadLetters",alertstate="firing",reason="status_404"}');
    expect(found[0]?.metric).toMatchObject({
      namespace: "demo",
      release: "hg",
      state: "rejected",
      severity: "warning",
    });
  });
});

describe("the runbooks", () => {
  const lines = (of: "commands" | "queries") => [...new Set(runbooks().flatMap((page) => page[of]))];
  /** Runs a line in a shell, as a reader would who has kubectl on the path and both variables set. */
  const shell = async (line: string) => {
    const kubectl = dirname(await resolveTool("kubectl"));
    const { cluster, apiUrl, token } = installation;
    const env = {
      KUBECONFIG: cluster.kube.kubeconfig,
      API: apiUrl,
      TOKEN: token,
      PATH: `${kubectl}:${process.env["PATH"]}`,
    };
    return run("bash", ["-c", line], { timeoutMs: commandMsMax, env });
  };

  test.each(lines("queries"))("hold a query of metrics that exist: %s", async (query) => {
    const here = query
      .replaceAll('namespace="heliograph"', 'namespace="demo"')
      .replaceAll('release="heliograph"', 'release="hg"');
    await instantQuery(installation.prometheusUrl, here);
    const known = await metricNames(installation.prometheusUrl);
    const names = selectorsOf(await parsed(installation.prometheusUrl, here)).map(
      ({ short }) => short.split("{")[0] ?? "",
    );
    expect(names.filter((name) => !known.has(name) && !emptyNames.has(name))).toEqual([]);
  });

  test("hold commands that run", async () => {
    const { kubeconfig } = installation.cluster.kube;
    const where = ["--kubeconfig", kubeconfig, "--namespace", "heliograph", "--create-namespace"];
    const args = ["install", "heliograph", chartFolder, "--set", "crds.install=false", ...where];
    expect(await run(await resolveTool("helm"), args, { timeoutMs: commandMsMax })).toMatchObject({ code: 0 });
    // The operator makes its Lease, and none runs there.
    const lease = { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata: { name: "heliograph-operator" } };
    await installation.cluster.run(["--namespace=heliograph", "create", "--filename=-"], JSON.stringify(lease));
    for (const command of lines("commands")) {
      // No pod runs there: the object must exist, and the pod of this test answers in its place.
      const forwarded = /^(.*) port-forward (\S+) \d+ &$/u.exec(command);
      const object = forwarded?.[2]?.replace(/^pod\/(.*)-\d+$/u, "statefulset/$1");
      const line =
        forwarded === null
          ? command
              .replace(/http:\/\/localhost:\d+/u, installation.adminUrl)
              .replace(/^curl /u, "curl --fail --silent ")
          : `${forwarded[1]} get ${object}`;
      const { code, stderr } = await shell(line);
      expect({ command, code, stderr: code === 0 ? "" : stderr }).toEqual({ command, code: 0, stderr: "" });
    }
  });
});
