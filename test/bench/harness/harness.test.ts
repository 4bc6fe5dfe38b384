import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { halves as allHalves } from "../halves.ts";
import { figureText, median, quantile, ratioOf, rowOf, rowText, type Bar } from "./figures.ts";
import { kneeOf, lineThrough } from "./fit.ts";
import { othersShare, parseCpuTimes, quietText, untilQuiet } from "./machine.ts";
import { readOptions } from "./options.ts";
import { withTables } from "./page.ts";
import { allProcesses, parseProcessStat, treeCpuSeconds, treeOf } from "./processes.ts";
import { HttpReader, type Head } from "../load/http-reader.ts";

const halves = [
  { name: "webhooks", parts: ["throughput", "kill"] },
  { name: "metrics", parts: ["hot"] },
] as const;

test("a median of an even count is between its two middle values, a quantile is one of the values", () => {
  expect([median([3, 1, 2]), median([4, 1, 2, 3])]).toEqual([2, 2.5]);
  expect([quantile([1, 2, 3, 4], 0.5), quantile([1, 2, 3, 4], 1), quantile([], 0.5)]).toEqual([3, 4, Number.NaN]);
});

test("the ratio of rounds in pairs is the median of their ratios, so that one slow round of both moves nothing", () => {
  expect(ratioOf([10, 1, 10], [20, 2, 20])).toBe(0.5);
  expect(ratioOf([10, 20], [5, 5, 50])).toBe(3);
});

test.each<readonly [string, number[], Bar | undefined, number, string]>([
  ["without a bar", [1], undefined, 4, "no bar"],
  ["without values", [], { atMost: 1 }, 4, "not measured"],
  ["without values and bar, of a part that failed", [], undefined, 4, "not measured"],
  ["of exactly the most", [9, 5, 1], { atMost: 5 }, 4, "holds"],
  ["above the most", [9, 6, 1], { atMost: 5 }, 4, "does not hold"],
  ["below the least", [1, 4, 9], { atLeast: 5 }, 4, "does not hold"],
  ["whose ratio is above the least", [8, 8, 8], { of: "ratio", atLeast: 0.8 }, 4, "holds"],
  ["whose ratio is below the least", [8, 7, 7], { of: "ratio", atLeast: 0.8 }, 4, "does not hold"],
  ["of a bar for four cores on two", [1], { atMost: 5, cores: 4 }, 2, "not measured"],
])("a figure %s", (_, values, bar, cores, result) => {
  const reference = { name: "reference", values: values.map(() => 10) };
  const measured = { name: "x", unit: "ms", values, reference, ...(bar === undefined ? {} : { bar }) };
  expect(rowOf("part", measured, cores).result).toBe(result);
});

test("a row says its value, spread, reference, ratio, bar and result", () => {
  const reference = { name: "bare", values: [4, 4, 4] };
  const row = rowOf("p", { name: "x", unit: "ms", values: [2, 1, 3], reference, bar: { atMost: 2 } }, 4);
  expect(row).toMatchObject({ rounds: 3, value: { median: 2, min: 1, max: 3 }, ratio: 0.5, result: "holds" });
  expect(rowText(row)).toBe("  x: 2 (1–3) ms · bare 4 · ratio 0.5 · ≤ 2 ms · holds");
  expect([12_345.6, 1.234, 0.04567, 0, Number.NaN].map(figureText)).toEqual(["12,346", "1.23", "0.0457", "0", "–"]);
});

test("a process is counted once in its tree, and what is left out takes all below it along", () => {
  const stat = (pid: number, parent: number) =>
    parseProcessStat(`${pid} (a) b (c) S ${parent} 0 0 0 0 0 0 0 0 0 150 50 7 3 0 0`, 100);
  expect(stat(9, 1)).toEqual({ pid: 9, parent: 1, name: "a) b (c", cpuSeconds: 2, endedCpuSeconds: 0.1 });
  const all = [stat(9, 1), stat(10, 9), stat(11, 10), stat(12, 9), stat(13, 12), stat(14, 1)];
  expect(treeOf(all, 9).map(({ pid }) => pid)).toEqual([9, 10, 11, 12, 13]);
  expect(treeOf(all, 9, [12]).map(({ pid }) => pid)).toEqual([9, 10, 11]);
});

test("the CPU of a real tree holds that of a grandchild", async () => {
  const spin = "for (const end = Date.now() + 300; Date.now() < end;);";
  const script = `require("node:child_process").spawn(process.execPath, ["-e", ${JSON.stringify(spin)}], { stdio: "inherit" })`;
  const child = spawn(process.execPath, ["-e", script], { stdio: "ignore" });
  await once(child, "exit");
  const mine = allProcesses().find(({ pid }) => pid === process.pid);
  expect(mine?.endedCpuSeconds).toBeGreaterThan(0.1);
  expect(treeCpuSeconds(process.pid, true)).toBeGreaterThan(treeCpuSeconds(process.pid));
});

test("what others use of the machine leaves out idle time and one's own", () => {
  const before = parseCpuTimes("cpu  100 0 100 800 0 0 0 0 50 0\ncpu0 …", 100);
  const after = parseCpuTimes("cpu  300 0 100 1000 0 0 0 0 50 0\ncpu0 …", 100);
  expect([before, after]).toEqual([
    { busy: 2, total: 10 },
    { busy: 4, total: 14 },
  ]);
  expect([othersShare(before, after, 1), othersShare(before, after, 5), othersShare(before, before, 0)]).toEqual([
    0.25,
    0,
    Number.NaN,
  ]);
});

test("a machine that is never quiet is said to be so, after the time given", async () => {
  const quiet = await untilQuiet(0);
  expect(quiet.waitedSeconds).toBeLessThan(10);
  expect(quietText({ isQuiet: false, load: 7.31, othersBusy: 0.5, waitedSeconds: 9 })).toBe(
    "never quiet: load 7.3, others use 50 % of the machine",
  );
});

test("parts are chosen by their names or that of their half", () => {
  expect(readOptions([], halves).parts).toEqual(["throughput", "kill", "hot"]);
  expect(readOptions(["hot", "webhooks", "--rounds", "3"], halves)).toMatchObject({
    parts: ["throughput", "kill", "hot"],
    rounds: 3,
  });
  expect(() => readOptions(["fast"], halves)).toThrow("no part fast");
  expect(() => readOptions(["--rounds", "0"], halves)).toThrow("--rounds is a whole number from 1 to 50, not 0");
});

test("responses are counted however their bytes are cut, with a length, in chunks and without a body", () => {
  const text =
    "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello" +
    "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\nx: 1\r\n\r\n3\r\nabc\r\na\r\n0\r\n\r\n56789\r\n0\r\n\r\n" +
    "HTTP/1.1 304 Not Modified\r\ncontent-length: 7\r\n\r\n" +
    "HTTP/1.1 503 No\r\ncontent-length: 0\r\n\r\n";
  for (let cut = 1; cut <= text.length; cut += 1) {
    const heads: Head[] = [];
    const reader = new HttpReader((head) => void heads.push(head));
    for (let at = 0; at < text.length; at += cut) reader.push(Buffer.from(text.slice(at, at + cut)));
    expect(heads.map(({ status }) => status)).toEqual([200, 200, 304, 503]);
  }
});

test("a page's table holds the rows of its half, and stays as it is without any", () => {
  const page =
    "a\n<!-- figures of webhooks -->\nbefore\n<!-- end -->\nb\n<!-- figures of metrics -->\nkept\n<!-- end -->\n";
  const row = rowOf("kill", { name: "lost", unit: "events", values: [0, 2, 1], bar: { atMost: 0 } }, 4);
  const quiet = { isQuiet: false, load: 8.25 };
  const written = withTables(page, [{ quiet, rows: [row] }], { webhooks: ["kill"], metrics: ["hot"] });
  expect(written).toContain(
    "| kill | lost | 1 (0–2) events |  | ≤ 0 events | does not hold, never quiet: load 8.25 |\n",
  );
  expect(written).toContain("kept");
  expect(written).not.toContain("before");
});

test("the line of a sweep is that of its points, and the knee the first amount far above the line before it", () => {
  expect(
    lineThrough([
      [0, 5],
      [10, 25],
      [20, 45],
    ]),
  ).toEqual({ fixed: 5, perUnit: 2 });
  expect(lineThrough([[3, 7]])).toEqual({ fixed: 7, perUnit: 0 });
  expect(
    kneeOf([
      [10, 12],
      [20, 22],
      [40, 43],
      [80, 200],
    ]),
  ).toBe(80);
  expect(
    kneeOf([
      [10, 12],
      [20, 22],
      [40, 43],
    ]),
  ).toBeUndefined();
});

test("the tables of test/bench/RESULTS.md name parts that the bench has", () => {
  const page = readFileSync(new URL("../RESULTS.md", import.meta.url), "utf8");
  const tables = page.matchAll(/<!-- figures of (?<half>\w+) -->\n(?<table>[\s\S]*?)<!-- end -->/gu);
  const named = [...tables].map(({ groups }) => {
    const rows = [...(groups?.["table"] ?? "").matchAll(/^\| (?<part>[a-z][\w-]*) \|/gmu)];
    return { half: groups?.["half"], parts: rows.map((row) => row.groups?.["part"]) };
  });
  expect(named.map(({ half }) => half)).toEqual(["webhooks", "metrics", "clients", "operator"]);
  const known = Object.fromEntries(allHalves.map(({ name, parts }) => [name, Object.keys(parts)]));
  expect(named.flatMap(({ half, parts }) => parts.filter((part) => !known[half ?? ""]?.includes(part ?? "")))).toEqual(
    [],
  );
});
