import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const heap = new URL("../../../runtime/cli/heap.ts", import.meta.url).href;

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
