import { spawn, type ChildProcessByStdio } from "node:child_process";
import { once } from "node:events";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { waitFor } from "../support/wait.ts";
import { arePortsFree, examplePorts, listenOn, takeDemoTurn, turnMsMax, type DemoTurn } from "./demo-turn.ts";

const program = fileURLToPath(new URL("main.ts", import.meta.url));
const demoMsMax = 180_000;
/** The ports that docs/examples names, and those of `--port`. */
const ports = [...examplePorts, 18_380, 18_381];
let turn: DemoTurn;

beforeAll(async () => {
  turn = await takeDemoTurn(ports);
}, turnMsMax);
afterAll(() => turn?.end());

function startDemo(...flags: readonly string[]): ChildProcessByStdio<null, Readable, Readable> {
  return spawn(process.execPath, [program, ...flags, "--port", "18380"], { stdio: ["ignore", "pipe", "pipe"] });
}

async function runDemoOnce(): Promise<{ readonly code: number | null; readonly text: string }> {
  const child = startDemo("--once");
  let text = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (part: string) => (text += part));
  await once(child, "close");
  return { code: child.exitCode, text };
}

test(
  "the demo shows deliveries, a retry, a dead letter and metrics, and leaves no port open",
  { timeout: demoMsMax },
  async () => {
    const { code, text } = await runDemoOnce();
    expect(text).toContain("default/acme-payments: delivered");
    expect(text).toContain("default/north-ledger: rejected, status_422");
    expect(text).toContain("x-query-shards: asked=2, answered=2");
    expect(code).toBe(0);
    expect(await arePortsFree(ports)).toBe(true);
  },
);

test("a demo that stays up leaves no port open when its reader goes away", { timeout: demoMsMax }, async () => {
  const child = startDemo();
  let text = "";
  child.stderr.setEncoding("utf8").on("data", (part: string) => (text += part));
  child.stdout.setEncoding("utf8").on("data", (part: string) => (text += part));
  await waitFor(() => text.includes("Heliograph applies") || child.exitCode !== null, {
    timeoutMs: demoMsMax,
    what: "the demo to be up",
  });
  expect(text).toContain("Heliograph applies");
  child.stdout.destroy();
  await once(child, "close");
  expect(
    await waitFor(() => arePortsFree(ports), { timeoutMs: 60_000, what: "the ports of the demo to be free" }),
  ).toBe(true);
});

test("the demo says which port is taken and exits with 1", { timeout: demoMsMax }, async () => {
  const taken = await listenOn(19_102);
  const { code, text } = await runDemoOnce();
  taken.close();
  expect(text).toContain("The partner north-ledger cannot listen on port 19102: end what uses it and try again.");
  expect(code).toBe(1);
});
