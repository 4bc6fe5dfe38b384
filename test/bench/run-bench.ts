import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { resolveTool } from "../tools/resolve.ts";
import { readOptions, type Options } from "./harness/options.ts";
import { rowOf, rowText, type Measured, type Row } from "./harness/figures.ts";
import { halves, type AnyHalf } from "./halves.ts";
import type { Bench, Stage } from "./harness/bench.ts";
import { machineFacts, quietText, untilQuiet, watchOthers, type MachineFacts, type Quiet } from "./harness/machine.ts";
import { compileProgram } from "./harness/program.ts";

/**
 * Runs every bar of the product, or the parts named, one after another, each on a quiet machine if there is one. Each
 * figure is a median of rounds with its spread, beside a reference of the same run.
 */

/** One part with the machine around it. */
interface PartResult {
  readonly part: string;
  /** Of the program, unless the name of a figure says otherwise. */
  readonly pods: number;
  readonly quiet: Quiet;
  /** Share of the machine that other programs used while the part ran. */
  readonly othersBusy: number;
  readonly rows: readonly Row[];
}

const root = fileURLToPath(new URL("../..", import.meta.url));
const options = readOptions(
  process.argv.slice(2),
  halves.map(({ name, parts }) => ({ name, parts: Object.keys(parts) })),
);
await bench(options);

async function bench({ parts, json, patienceSeconds, pods, ...sizes }: Options): Promise<void> {
  const machine = machineFacts(await resolveTool("nats-server"));
  console.log(
    `${machine.cores} cores (${machine.processor}), ${machine.memoryGiB} GiB, kernel ${machine.kernel}, Node ` +
      `${machine.node}, ${machine.natsServer}, load ${machine.load.toFixed(1)}`,
  );
  const common = { ...sizes, program: await compileProgram(), progress: (line: string) => console.log(`  ${line}`) };
  const results: PartResult[] = [];
  for (const half of halves) {
    const chosen = Object.keys(half.parts).filter((name) => parts.includes(name));
    if (chosen.length === 0) continue;
    const own: Bench = { ...common, pods: pods ?? half.pods };
    const stage = await half.open(own);
    for (const part of chosen) results.push(await runPart(half, stage, part, { bench: own, machine, patienceSeconds }));
    await stage.close();
  }
  const path = json ?? join(root, "dist", "bench.json");
  await mkdir(dirname(path), { recursive: true });
  await writeFile(
    path,
    `${JSON.stringify({ at: new Date().toISOString(), machine, options: { ...sizes, pods }, results }, undefined, 1)}\n`,
  );
  summary(results);
  console.log(`written to ${path}`);
}

interface Around {
  readonly bench: Bench;
  readonly machine: MachineFacts;
  readonly patienceSeconds: number;
}

async function runPart(half: AnyHalf, stage: Stage, part: string, around: Around): Promise<PartResult> {
  const quiet = await untilQuiet(around.patienceSeconds);
  console.log(`== ${part} (${quietText(quiet)})`);
  const others = watchOthers();
  const found = await measuredOrWhyNot(part, async () => (await half.parts[part]?.(stage, around.bench)) ?? []);
  // A smallest sample holds nothing to a bar.
  const cores = around.bench.isSmall ? 0 : around.machine.cores;
  const rows = found.map((one) => rowOf(part, one, cores));
  for (const row of rows) console.log(rowText(row));
  const othersBusy = others();
  console.log(`  meanwhile others used ${(othersBusy * 100).toFixed(0)} % of the machine`);
  return { part, pods: around.bench.pods, quiet, othersBusy, rows };
}

/** A part that fails costs no figures of the others; the program ends with 1 then. */
async function measuredOrWhyNot(part: string, run: () => Promise<readonly Measured[]>): Promise<readonly Measured[]> {
  try {
    return await run();
  } catch (error) {
    process.exitCode = 1;
    return [{ name: part, unit: "", values: [], note: error instanceof Error ? error.message : String(error) }];
  }
}

function summary(results: readonly PartResult[]): void {
  const counts = Map.groupBy(
    results.flatMap(({ rows }) => rows),
    ({ result }) => result,
  );
  const texts = [...counts].map(([result, rows]) => `${rows.length} ${result}`);
  const loud = results.filter(({ quiet }) => !quiet.isQuiet).map(({ part }) => part);
  console.log(`${texts.join(", ")}${loud.length === 0 ? "" : `; never quiet: ${loud.join(", ")}`}`);
}
