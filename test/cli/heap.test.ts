import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { restartOf, trimWhenIdle } from "../../cli/serving/heap.ts";

const heap = new URL("../../cli/serving/heap.ts", import.meta.url).href;

/** Sweeps of the whole heap while half a gigabyte of bytes outside of it comes and goes. */
async function sweeps(prelude: string): Promise<number> {
  const program = `
    import { PerformanceObserver, constants } from "node:perf_hooks";
    import { setTimeout as sleep } from "node:timers/promises";
    ${prelude}
    let sweeps = 0;
    new PerformanceObserver((list) => {
      sweeps += list.getEntries().filter(({ detail }) => detail.kind === constants.NODE_PERFORMANCE_GC_MAJOR).length;
    }).observe({ entryTypes: ["gc"] });
    const kept = Array.from({ length: 40_000 }, (_, index) => ({ index }));
    for (let index = 0; index < 2_048; index += 1) {
      kept[0] = Buffer.alloc(262_144);
      if (index % 16 === 0) await sleep(1);
    }
    await sleep(20);
    console.log(sweeps);`;
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", program]);
  return Number(stdout);
}

test("the heap is not swept for every few bytes outside of it", async () => {
  const usual = await sweeps("");
  const counted = await sweeps(`import { countBytesOutsideLikeInside } from "${heap}"; countBytesOutsideLikeInside();`);
  expect(usual).toBeGreaterThan(0);
  expect(counted).toBeLessThan(usual / 2);
});

describe("the start that replaces a running one", () => {
  const plan = { flags: ["--max-old-space-size=307"] };
  const start = {
    execPath: "/n/node",
    execArgv: ["--cpu-prof"],
    argv: ["/n/node", "/h.js", "run", "x"],
    env: { A: "1" },
  };

  test("has the flags of the plan, and all that the first one had", () => {
    expect(restartOf(start, plan)).toEqual({
      path: "/n/node",
      args: ["/n/node", "--cpu-prof", "--max-old-space-size=307", "/h.js", "run", "x"],
      env: { MALLOC_ARENA_MAX: "2", MALLOC_MMAP_THRESHOLD_: "66000", A: "1" },
    });
  });

  test("leaves the allocator to the user who sets it", () => {
    const env = { MALLOC_ARENA_MAX: "8", MALLOC_MMAP_THRESHOLD_: "131072" };
    expect(restartOf({ ...start, env }, plan)?.env).toEqual(env);
  });

  test.each([
    ["a replaced start", { execArgv: ["--max-old-space-size=1"] }],
    ["an own bound", { execArgv: ["--max_heap_size=1"] }],
    ["an own bound in the environment", { env: { NODE_OPTIONS: "--max-old-space-size-percentage=50" } }],
  ])("is none for %s", (_, changes) => {
    expect(restartOf({ ...start, ...changes }, plan)).toBeUndefined();
  });
});

describe("an idle process", () => {
  const mebibyte = 1_048_576;

  /** The trims after checks, each with the busy share before it and the growth of the heap. */
  function trimsAfter(checks: readonly (readonly [busy: number, grownMebibytes: number])[]): readonly number[] {
    let [now, bytes, check] = [0, 60 * mebibyte, (): void => undefined];
    const trims: number[] = [];
    const stop = trimWhenIdle(
      {
        busyShare: () => checks[now]?.[0] ?? 1,
        bytes: () => bytes,
        trim: () => {
          trims.push(now);
          bytes = 40 * mebibyte;
        },
      },
      {
        after: (_ms, callback) => {
          check = callback;
          return () => (check = () => undefined);
        },
      },
    );
    for (now = 0; now < checks.length; now += 1) {
      bytes += (checks[now]?.[1] ?? 0) * mebibyte;
      check();
    }
    stop();
    now = 0;
    check();
    return trims;
  }

  const idle = [0.01, 0] as const;

  test("returns the memory of its start once", () => {
    expect(trimsAfter(Array.from({ length: 9 }, () => idle))).toEqual([1]);
  });

  test("does so again after its heap has grown, and not under load", () => {
    const load = [0.4, 10] as const;
    expect(trimsAfter([load, load, load, idle, load, idle, idle, idle])).toEqual([6]);
    const quiet = Array.from({ length: 62 }, () => idle);
    expect(trimsAfter([idle, idle, load, load, ...quiet])).toEqual([1, 61]);
    expect(trimsAfter([idle, idle, [0.4, 65], idle, idle])).toEqual([1, 4]);
  });

  test("returns what has expired meanwhile once more, five minutes later", () => {
    const quiet = Array.from({ length: 200 }, () => idle);
    expect(trimsAfter([idle, idle, [0.4, 15], ...quiet])).toEqual([1, 61]);
  });

  test("has a small young generation and heap afterwards", async () => {
    const program = `
      import { getHeapSpaceStatistics } from "node:v8";
      import { trimWhenIdle } from "${heap}";
      let kept = [];
      for (let index = 0; index < 3_000_000; index += 1) kept[index % 300_000] = { index };
      kept = [];
      const youngMebibytes = () =>
        getHeapSpaceStatistics().find(({ space_name }) => space_name === "new_space").physical_space_size / 1_048_576;
      const before = youngMebibytes();
      const checks = [];
      trimWhenIdle(undefined, { after: (ms, check) => (checks.push(check), () => undefined) });
      checks.shift()();
      await new Promise((resolve) => setTimeout(resolve, 400));
      checks.shift()();
      await new Promise((resolve) => setTimeout(resolve, 400));
      checks.shift()();
      console.log(JSON.stringify([before, youngMebibytes(), typeof gc]));`;
    const flags = ["--max-semi-space-size=16", "--input-type=module", "--eval", program];
    const { stdout } = await promisify(execFile)(process.execPath, flags);
    const [before, after, exposed] = JSON.parse(stdout) as [number, number, string];
    expect(before).toBeGreaterThan(8);
    expect(after).toBeLessThan(4);
    expect(exposed).toBe("undefined");
  });
});
