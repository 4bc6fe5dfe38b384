import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { setTimeout as sleep } from "node:timers/promises";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createLineTime } from "../../cli/serving/log-destination.ts";
import { waitFor } from "../support/wait.ts";

/** Longer than a program takes to start and to fill its standard error. */
const slowMs = 1_500;

const modules = {
  destination: fileURLToPath(new URL("../../cli/serving/log-destination.ts", import.meta.url)),
};

/** Runs a script in a process of its own, with `log` to the destination. */
function start(script: string) {
  const code = `
    import { pino } from "pino";
    import { createLogDestination } from ${JSON.stringify(modules.destination)};
    const destination = createLogDestination();
    const log = pino({}, destination);
    ${script}`;
  return spawn(process.execPath, ["--input-type=module", "--eval", code], { stdio: ["ignore", "pipe", "pipe"] });
}

const messages = (lines: string): unknown[] =>
  lines
    .trim()
    .split("\n")
    .map((line) => (JSON.parse(line) as { readonly msg: unknown }).msg);

describe("log lines", () => {
  test("are all written, in order, when the process exits at once", async () => {
    const script = `for (let n = 0; n < 2000; n += 1) log.info(String(n)); await destination.flushed(); process.exit(0);`;
    const child = start(script);
    const ended = once(child, "exit");
    expect(messages(await text(child.stderr))).toEqual(Array.from({ length: 2000 }, (_, n) => String(n)));
    expect(await ended).toEqual([0, null]);
  });

  test("before a fatal one are written with it", async () => {
    const child = start(`log.info("before"); log.fatal("the end"); process.exit(1);`);
    expect(messages(await text(child.stderr))).toEqual(["before", "the end"]);
  });

  test("come by themselves while the process does nothing", async () => {
    const child = start(`log.info("alone"); setInterval(() => undefined, 1000);`);
    const [chunk] = (await once(child.stderr, "data")) as [Buffer];
    expect(messages(chunk.toString())).toEqual(["alone"]);
    child.kill("SIGKILL");
    await once(child, "exit");
  });

  test("are gathered again after a flush", async () => {
    // No timer runs during the loop, so that only a line that was not gathered would be written before the end.
    const child = start(`log.info("before"); await destination.flushed(); log.info("after");
      for (const begin = performance.now(); performance.now() < begin + 200; );
      process.kill(process.pid, "SIGKILL");`);
    expect(messages(await text(child.stderr))).toEqual(["before"]);
  });

  test("come by themselves after a reader that was slow", async () => {
    const script = `for (let n = 0; n < 3000; n += 1) log.info({ filler: "x".repeat(500) }, String(n));
      setInterval(() => undefined, 1000);`;
    const child = start(script);
    await sleep(slowMs);
    let read = "";
    child.stderr.setEncoding("utf8").on("data", (chunk: string) => (read += chunk));
    try {
      const isWhole = (): boolean => read.split("\n").length - 1 === 3000;
      await waitFor(isWhole, { timeoutMs: 10_000, what: "the last lines" });
    } finally {
      child.kill("SIGKILL");
      await once(child, "exit");
    }
    expect(messages(read)).toEqual(Array.from({ length: 3000 }, (_, n) => String(n)));
  });

  test("keep no process that ends when its reader is gone", async () => {
    const child = start(`process.stdout.write("started");
      setTimeout(() => { log.info("nobody reads this"); process.exit(0); }, 300);`);
    const ended = once(child, "exit");
    await once(child.stdout, "data");
    child.stderr.destroy();
    try {
      await waitFor(() => child.exitCode !== null, { timeoutMs: 10_000, what: "the end of the process" });
    } finally {
      child.kill("SIGKILL");
    }
    expect(await ended).toEqual([0, null]);
  });

  test("without a reader neither stop the process nor keep it from ending", async () => {
    const child = start(`
      const line = "x".repeat(1000);
      for (let n = 0; n < 30_000; n += 1) { log.info(line); if (n % 1000 === 0) await new Promise(setImmediate); }
      process.stdout.write("logged");
      await destination.flushed();
      process.stdout.write(" ended");
      process.exit(0);`);
    const ended = once(child, "exit");
    expect(await text(child.stdout)).toBe("logged ended");
    expect(await ended).toEqual([null, "SIGKILL"]);
  });
});

describe("the time of a line", () => {
  test("is the ISO time of the clock at any millisecond", () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 0, max: 4_102_444_800_000 }), { minLength: 1 }),
        fc.nat(2_500),
        (times, step) => {
          let nowMs = 0;
          const lineTime = createLineTime(() => nowMs);
          for (const ms of times.flatMap((one) => [one, one + step])) {
            nowMs = ms;
            expect(lineTime()).toBe(`,"time":"${new Date(ms).toISOString()}"`);
          }
        },
      ),
    );
  });
});
