import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { temporaryFolder } from "../support/temp-folder.ts";
import { run } from "../tools/run.ts";
import type { Row } from "./harness/figures.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** What a run writes, as far as this test reads it. */
interface Written {
  readonly machine: { readonly cores: number; readonly natsServer: string };
  readonly results: readonly { readonly part: string; readonly rows: readonly Row[] }[];
}

test("make bench hands its arguments on", async () => {
  const { stdout } = await run("make", ["-n", "bench", "ARGS=rate step"], { cwd: root, timeoutMs: 10_000 });
  expect(stdout).toContain("test/bench/run-bench.ts rate step\n");
});

test("the bench runs the parts named on the compiled program, says so, and writes JSON", async () => {
  const folder = await temporaryFolder("bench-test");
  onTestFinished(() => folder.remove());
  const json = join(folder.path, "bench.json");
  const args = ["rate", "step", "--small", "--patience", "0", "--json", json];
  const bench = fileURLToPath(new URL("run-bench.ts", import.meta.url));
  const { code, stdout, stderr } = await run(process.execPath, [bench, ...args], { cwd: root, timeoutMs: 280_000 });
  expect({ code, stderr: code === 0 ? "" : stderr }).toEqual({ code: 0, stderr: "" });
  const { machine, results } = JSON.parse(await readFile(json, "utf8")) as Written;
  expect(machine).toMatchObject({ cores: expect.any(Number), natsServer: expect.stringContaining("nats-server") });
  expect(results.map(({ part }) => part)).toEqual(["rate", "step"]);
  const rows = results.flatMap((one) => one.rows);
  expect(rows.filter(({ value }) => value === undefined || Number.isNaN(value.median))).toEqual([]);
  expect(new Set(rows.map(({ result }) => result))).toEqual(new Set(["no bar", "not measured"]));
  for (const { name } of rows) expect(stdout).toContain(name);
}, 300_000);
