import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { startPrometheus } from "../../../support/prometheus.ts";
import { temporaryFolder } from "../../../support/temp-folder.ts";
import { run } from "../../../tools/run.ts";
import { resolveTool } from "../../../tools/resolve.ts";
import { waitFor } from "../../../support/wait.ts";
import { startMonitoredServer } from "./monitored-server.ts";

const timeoutMs = 30_000;

test("Prometheus scrapes the series of nats-server, and promtool finds nothing against them", async () => {
  const monitored = await startMonitoredServer();
  onTestFinished(() => monitored.stop());
  const target = `127.0.0.1:${monitored.port}`;
  const { stdout, stderr, code } = await run(
    "/bin/sh",
    ["-c", '"$0" check metrics < "$1"', await resolveTool("promtool"), await scraped(target)],
    { timeoutMs },
  );
  expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: "", stderr: "" });
  const scrape = { job_name: "nats", scrape_interval: "1s", static_configs: [{ targets: [target] }] };
  const store = await startPrometheus({ config: JSON.stringify({ scrape_configs: [scrape] }) });
  onTestFinished(() => store.stop());
  const valueOf = async (query: string): Promise<string | undefined> => {
    const answer = await fetch(`${store.url}/api/v1/query?query=${encodeURIComponent(query)}`);
    const { data } = (await answer.json()) as { data: { result: ReadonlyArray<{ value: readonly [number, string] }> } };
    return data.result[0]?.value[1];
  };
  await waitFor(async () => (await valueOf("heliograph_nats_up")) === "1", { timeoutMs, what: "a scrape" });
  expect(Number(await valueOf("heliograph_nats_jetstream_storage_limit_bytes"))).toBeGreaterThan(0);
});

/** A file with one scrape. */
async function scraped(target: string): Promise<string> {
  const folder = await temporaryFolder("scrape");
  onTestFinished(() => folder.remove());
  const file = join(folder.path, "metrics.txt");
  await writeFile(file, await (await fetch(`http://${target}/metrics`)).text());
  return file;
}
