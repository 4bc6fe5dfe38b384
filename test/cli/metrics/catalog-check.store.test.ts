import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { stringify } from "yaml";
import { runProgram } from "../../support/heliograph-process.ts";
import { startPrometheus } from "../../support/prometheus.ts";
import { remoteWrite } from "../../support/remote-write.ts";
import { temporaryFolder } from "../../support/temp-folder.ts";

const metric = (id: string, name: string, labels: readonly string[] = ["service"]): object => ({
  id,
  category: "kri",
  unit: "messages",
  description: id,
  source: { gauge: { name }, intervalSeconds: 15 },
  labels,
  aggregations: ["avg"],
  defaultAggregation: "avg",
});
const catalogOf = (metrics: readonly object[]): string =>
  stringify({
    apiVersion: "heliograph.dev/v1alpha1",
    kind: "MetricCatalog",
    metadata: { name: "shop" },
    spec: {
      schemaVersion: "1",
      stores: [{ name: "eu", region: "eu", prometheus: { url: "http://127.0.0.1:9" } }],
      metrics,
    },
  });

test("a folder is compared with a real Prometheus: 0 matches, 1 differs, 13 is unknown", async () => {
  const [store, folder] = await Promise.all([startPrometheus(), temporaryFolder("catalog-check")]);
  onTestFinished(async () => {
    await store.stop();
    await folder.remove();
  });
  const file = join(folder.path, "catalog.yaml");
  const nowMs = Date.now();
  const samples = Array.from({ length: 60 }, (_, index) => ({ ms: nowMs - (59 - index) * 15_000, value: index }));
  await remoteWrite(store.url, [{ name: "queue_lag", labels: { tenant: "lumen", service: "a" }, samples }]);
  const check = async (...args: readonly string[]) => {
    const { code, stdout, stderr } = await runProgram(["catalog", "check", ...args, "--output", "json"]);
    const rows = stdout.split("\n").filter((line) => line !== "");
    return { code, stderr, rows: rows.map((row) => JSON.parse(row) as { metric_id: string; message: string }) };
  };
  const at = `eu=${store.url}`;

  const sensitive = { ...metric("secret_lag", "queue_lag"), sensitivity: "finance", requiredRole: "finance" };
  await writeFile(file, catalogOf([metric("lag", "queue_lag"), sensitive]));
  expect(await check(folder.path, "--store", at)).toMatchObject({
    code: 0,
    stderr: "",
    rows: [
      { metric_id: "lag", status: "True" },
      { metric_id: "secret_lag", status: "True" },
    ],
  });

  await writeFile(file, catalogOf([metric("lag", "queue_lag"), metric("renamed", "queue_depth")]));
  const differs = await check(file, "--store", at);
  expect(differs).toMatchObject({ code: 1, rows: [{ status: "True" }, { status: "False", check: "series" }] });
  expect(differs.rows[1]?.message).toBe("eu: no series queue_depth with these matchers");

  // The command of the page.
  const examples = await check("docs/examples", "--store", at, "--store", `latam=${store.url}`);
  expect(examples.code).toBe(1);
  expect(examples.rows.find(({ metric_id: id }) => id === "queue_consumer_lag")?.message).toMatch(
    /^eu: no series (\S+) with these matchers\. latam: no series \1 with these matchers$/u,
  );

  expect(await check(file)).toMatchObject({ code: 13, rows: [{ status: "Unknown" }, { status: "Unknown" }] });
  expect(await check(file, "--store", `us=${store.url}`)).toMatchObject({ code: 2, rows: [] });
  expect(await check("--store", at)).toMatchObject({ code: 2 });
  expect(await check(file, "--store", "eu")).toMatchObject({ code: 2 });
  await writeFile(file, "kind: MetricCatalog\n");
  expect(await check(file, "--store", at)).toMatchObject({ code: 3 });
});
