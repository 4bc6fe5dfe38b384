// The program of `make demo`. What it shares with `heliograph up` is in `demo/`.
import { parseArgs } from "node:util";
import { temporaryFolder } from "../support/temp-folder.ts";
import { runDemo } from "./run-demo.ts";

const usage = "Usage: make demo [ARGS='--once --port PORT']";

/**
 * `make demo`: everything on this machine, until Ctrl-C; `--once` ends by itself with 0, or 1 when something was not
 * so.
 */
async function main(): Promise<number> {
  const options = { once: { type: "boolean", default: false }, port: { type: "string", default: "18080" } } as const;
  const { values } = parseArgs({ options });
  const stop = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => stop.abort());
  // Whoever read the output is gone, as in `make demo | head`.
  process.stdout.on("error", () => stop.abort());
  const folder = await temporaryFolder("demo");
  try {
    await runDemo({
      folder: folder.path,
      port: Number(values.port),
      once: values.once,
      signal: stop.signal,
      write: (text) => void process.stdout.write(text),
    });
    return 0;
  } finally {
    await folder.remove();
  }
}

try {
  process.exitCode = await main();
} catch (error) {
  const isUsage = error instanceof TypeError && "code" in error;
  process.stderr.write(
    `demo: ${error instanceof Error ? error.message : String(error)}\n${isUsage ? `${usage}\n` : ""}`,
  );
  process.exitCode = isUsage ? 2 : 1;
}
