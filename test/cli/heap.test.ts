import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { restartOf } from "../../cli/serving/heap.ts";

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
      env: { MALLOC_ARENA_MAX: "2", A: "1" },
    });
  });

  test("leaves the allocator to the user who sets it", () => {
    expect(restartOf({ ...start, env: { MALLOC_ARENA_MAX: "8" } }, plan)?.env).toEqual({ MALLOC_ARENA_MAX: "8" });
  });

  test.each([
    ["a replaced start", { execArgv: ["--max-old-space-size=1"] }],
    ["an own bound", { execArgv: ["--max_heap_size=1"] }],
    ["an own bound in the environment", { env: { NODE_OPTIONS: "--max-old-space-size-percentage=50" } }],
  ])("is none for %s", (_, changes) => {
    expect(restartOf({ ...start, ...changes }, plan)).toBeUndefined();
  });
});
