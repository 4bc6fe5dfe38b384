import type { Preview } from "../../../api/previews.ts";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { plainObject, type Changes } from "../../crds/valid-objects.ts";
import { runProgram } from "../../support/heliograph-process.ts";
import { waitFor } from "../../support/wait.ts";
import { cpuQuery, startCpuStore } from "../cpu-store.ts";
import { get, makeInstallation } from "../installation.ts";

test("diff says which recorded query an edit refuses, and the applied edit refuses it", async ({ onTestFinished }) => {
  const store = await startCpuStore();
  onTestFinished(() => store.stop());
  const installation = await makeInstallation();
  onTestFinished(() => installation.remove());
  const catalog = (changes: Changes = {}): string =>
    JSON.stringify(
      plainObject("MetricCatalog", {
        stores: [{ name: "eu", region: "eu", prometheus: { url: store.url } }],
        "metrics[0].labels": ["region", "tenant", "service"],
        ...changes,
      }),
    );
  await installation.write("catalog.yaml", catalog());
  const { line } = await installation.start();
  const url = `${line.url}/v1/metrics/query?${cpuQuery}`;
  const reader = await installation.token({ tenants: ["lumen"] });
  expect((await get(`${url}&group_by=service&filter[service]=api`, reader)).status).toBe(200);
  expect((await get(url, reader)).status).toBe(200);

  const edited = join(dirname(installation.folder), "edited");
  await mkdir(edited);
  const narrower = catalog({ "metrics[0].labels": ["region", "tenant"] });
  await writeFile(join(edited, "catalog.yaml"), narrower);
  const admin = await installation.token({ scope: "admin:preview" });
  const environment = { HELIOGRAPH_TOKEN: admin, HELIOGRAPH_URL: line.url };
  const { code, stdout } = await runProgram(["diff", edited, "-o", "json"], { environment });
  expect(code).toBe(1);
  const { queries } = JSON.parse(stdout) as Preview;
  expect(queries).toMatchObject({ pods: { live: 1, answered: 1 }, seen: 2, judged: 2, refused: 1, allowed: 0 });
  expect(queries?.shapes).toMatchObject([
    { effect: "refused", filters: ["service"], after: { code: "invalid_group_by" } },
  ]);
  expect(stdout).not.toContain('"api"');
  const text = await runProgram(["diff", edited], { environment });
  expect(text.stdout).toContain("2 recorded queries: 1 would be rejected");
  expect(text.stderr).toContain("Queries: 2 of 2 compared");

  const finance = await installation.token({ scope: "admin:preview metrics:usage" });
  const readers = await waitFor(
    async () => {
      const own = { HELIOGRAPH_TOKEN: finance, HELIOGRAPH_URL: line.url };
      const { stdout: json } = await runProgram(["diff", edited, "-o", "json"], { environment: own });
      const found = (JSON.parse(json) as Preview).readers;
      return (found?.removed[0]?.clients?.length ?? 0) > 0 ? found : undefined;
    },
    { timeoutMs: 20_000, what: "stored usage" },
  );
  expect(readers).toMatchObject({ clients_shown: "all", complete: false });
  expect(readers.removed).toEqual([
    {
      metric: "cpu_util",
      what: "label",
      name: "service",
      clients: [{ client: expect.any(String) as string, requests: 1 }],
      more_clients: 0,
      unknown_requests: 0,
    },
  ]);
  expect(text.stderr).toContain("Only your client is shown; a token with metrics:usage sees all clients.");

  await installation.write("catalog.yaml", narrower);
  const refusal = async (): Promise<unknown> => {
    const { status, body } = await get(`${url}&group_by=service&filter[service]=api`, reader);
    return status === 400 ? body["code"] : undefined;
  };
  expect(await waitFor(refusal, { timeoutMs: 20_000, what: "the edited catalog" })).toBe("invalid_group_by");
  expect((await get(url, reader)).status).toBe(200);
});
