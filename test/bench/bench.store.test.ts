import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { isSoak } from "../support/soak.ts";
import { temporaryFolder } from "../support/temp-folder.ts";
import { run } from "../tools/run.ts";
import { halves } from "./halves.ts";
import type { Row } from "./harness/figures.ts";

const sweepsMs = isSoak ? 3_600_000 : 300_000;
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

const sweeps = halves.flatMap(({ parts }) => Object.keys(parts)).filter((part) => part.startsWith("sweep-"));

/** Runs parts of the bench, and returns what it wrote. */
async function runParts(parts: readonly string[], flags: readonly string[], timeoutMs: number) {
  const folder = await temporaryFolder("bench-test");
  onTestFinished(() => folder.remove());
  const json = join(folder.path, "bench.json");
  const bench = fileURLToPath(new URL("run-bench.ts", import.meta.url));
  const args = [bench, ...parts, ...flags, "--patience", "0", "--json", json];
  const { code, stdout, stderr } = await run(process.execPath, args, { cwd: root, timeoutMs });
  expect({ code, stderr: code === 0 ? "" : stderr }).toEqual({ code: 0, stderr: "" });
  return { written: JSON.parse(await readFile(json, "utf8")) as Written, stdout };
}

test("the bench runs the parts named on the compiled program, says so, and writes JSON", async () => {
  const { written, stdout } = await runParts(["rate", "step"], ["--small"], 280_000);
  const { machine, results } = written;
  expect(machine).toMatchObject({ cores: expect.any(Number), natsServer: expect.stringContaining("nats-server") });
  expect(results.map(({ part }) => part)).toEqual(["rate", "step"]);
  const rows = results.flatMap((one) => one.rows);
  expect(rows.filter(({ value }) => value === undefined || Number.isNaN(value.median))).toEqual([]);
  expect(new Set(rows.map(({ result }) => result))).toEqual(new Set(["no bar", "not measured"]));
  for (const { name } of rows) expect(stdout).toContain(name);
}, 300_000);

// The small sweeps only show that each still runs; a soak prints the curves.
test("each sweep of the bench has a figure for every point", { timeout: sweepsMs }, async () => {
  const { written, stdout } = await runParts(sweeps, isSoak ? ["--rounds", "3"] : ["--small"], sweepsMs - 20_000);
  if (isSoak) console.log(stdout);
  expect(written.results.map(({ part }) => part)).toEqual(sweeps);
  const rows = written.results.flatMap((one) => one.rows);
  expect(rows.filter(({ value }) => value === undefined || Number.isNaN(value.median))).toEqual([]);
});
