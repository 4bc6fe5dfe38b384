import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startPrometheus, type PrometheusHandle } from "../../../support/prometheus.ts";
import { findPythonProgram } from "../../../support/python-program.ts";
import { runsOf } from "../../../support/soak.ts";
import { temporaryFolder, type TemporaryFolder } from "../../../support/temp-folder.ts";
import { run } from "../../../tools/run.ts";
import { keptUsage } from "../../metrics/usage/kept-usage.ts";
import { metricsOfServer, metricsServerOver, type MetricsServer } from "./metrics-server.ts";

/** Fixed, so that a run can be repeated. */
const seed = "166167461603029939281330569156305690565";
/** What the document cannot say. */
const hooks = fileURLToPath(new URL("../../../tools/schemathesis/metrics_hooks.py", import.meta.url));
const installMsMax = 300_000;
const runMsMax = 1_800_000;
const checks = [
  "not_a_server_error",
  "status_code_conformance",
  "content_type_conformance",
  "response_headers_conformance",
  "response_schema_conformance",
  "negative_data_rejection",
  "positive_data_is_understood",
  "unsupported_method",
  "ignored_auth",
];

let store: PrometheusHandle;
let server: MetricsServer;
let url: string;
let folder: TemporaryFolder;
beforeAll(async () => {
  folder = await temporaryFolder("fuzz");
  store = await startPrometheus({ openMetrics: samples(Date.now() - 3_600_000, Date.now()) });
  server = metricsServerOver({ eu: store.url }, { now: Date.now, usage: keptUsage(Date.now()) });
  url = await server.app.listen({ host: "127.0.0.1", port: 0 });
});
afterAll(async () => {
  await server?.close();
  await store?.stop();
  await folder?.remove();
});

/** Every metric of the server, every half minute. */
function* samples(fromMs: number, toMs: number): Iterable<string> {
  const labels = 'tenant="brand-a",env="prod",service="web"';
  const names = ["lag", "payments_total", "latency_sum", "latency_count"].map((name) => `${name}{${labels}}`);
  const counted = ["ok", "failed"].map((result) => `logins_total{${labels},result="${result}"}`);
  const buckets = ["1", "10", "+Inf"].map((le) => `latency_bucket{${labels},le="${le}"}`);
  for (const name of [...names, ...counted, ...buckets])
    for (let ms = fromMs; ms < toMs; ms += 30_000) yield `${name} ${(ms - fromMs) / 1_000} ${ms / 1_000}\n`;
  yield "# EOF\n";
}

/**
 * A refusal is any 4xx. A query of a bulk that is not valid is refused by itself, so that the bulk is answered. The
 * refusal of a query is a part of its plan.
 */
const config = `
hooks = "${hooks}"

[checks]
enabled = false
${checks.map((check) => `${check}.enabled = true`).join("\n")}
negative_data_rejection.expected-statuses = ["4xx"]

[[operations]]
include-path = "/v1/metrics/bulk-query"
checks.negative_data_rejection.enabled = false

[[operations]]
include-path = "/v1/metrics/plan"
checks.negative_data_rejection.enabled = false
`;

/** Usage is of one metric at most. */
const usageParameters = `
[[operations]]
include-path = "/v1/metrics/usage"
parameters = { "query.metric" = "lag" }
`;

/** Below /prometheus, errors have another form and unknown parameters are ignored, so two checks do not apply. */
const prometheusConfig = `
[checks]
enabled = false
${checks
  .filter((check) => !/^(?:negative_data_rejection|positive_data_is_understood)$/u.test(check))
  .map((check) => `${check}.enabled = true`)
  .join("\n")}
`;

describe("requests made of the OpenAPI document by schemathesis", () => {
  const rows = [
    ["as it stands", "^/v1/", config],
    [
      "about metrics and a tenant that are there",
      "^/v1/",
      `${config}[parameters]\n"query.metric" = [${Object.keys(metricsOfServer)
        .map((id) => JSON.stringify(id))
        .join(", ")}]\n"query.filter[tenant]" = "brand-a"\n${usageParameters}`,
    ],
    ["as a client of Prometheus", "^/prometheus/", prometheusConfig],
  ] as const;
  test.for(rows)(
    `find no 5xx and nothing that the document does not say, %s (at most ${runsOf(200)} to an operation)`,
    { timeout: installMsMax + runMsMax },
    async ([, paths, settings], { skip }) => {
      const found = await findPythonProgram("schemathesis");
      if ("missing" in found) {
        process.stderr.write(`heliograph tests: not run: ${found.missing}\n`);
        skip(found.missing);
        return;
      }
      const configFile = join(folder.path, "schemathesis.toml");
      await writeFile(configFile, settings);
      const args = ["--config-file", configFile, "run", `${url}/v1/openapi.json`, "--include-path-regex", paths];
      const bounds = [
        "--max-examples",
        String(runsOf(paths === "^/v1/" ? 200 : 25)),
        "--seed",
        seed,
        "--phases",
        "examples,coverage,fuzzing",
        "--generation-database",
        "none",
        "--no-color",
        "--continue-on-failure",
      ];
      const { code, stdout, stderr } = await run(
        found.command,
        [...args, ...bounds, "--header", "Authorization: Bearer fuzzer"],
        { timeoutMs: runMsMax, cwd: folder.path },
      );
      expect({ code, report: code === 0 ? "" : `${stdout}\n${stderr}` }).toEqual({ code: 0, report: "" });
    },
  );
});
