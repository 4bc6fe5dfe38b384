import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";

const modules = {
  destination: fileURLToPath(new URL("../../../runtime/cli/serving/log-destination.ts", import.meta.url)),
};

/** Runs a script in a process of its own, with `log` to the destination. */
function start(script: string) {
  const code = `
    import { pino } from "pino";
    import { createLogDestination } from ${JSON.stringify(modules.destination)};
    const destination = createLogDestination(false);
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
    const child = start(
      `for (let n = 0; n < 2000; n += 1) log.info(String(n)); await destination.flushed(); process.exit(0);`,
    );
    expect(messages(await text(child.stderr))).toEqual(Array.from({ length: 2000 }, (_, n) => String(n)));
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
