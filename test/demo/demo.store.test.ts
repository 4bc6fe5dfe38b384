import { spawn, type ChildProcessByStdio } from "node:child_process";
import { once } from "node:events";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { stallMsMax, waitFor } from "../support/wait.ts";
import { arePortsFree, examplePorts, listenOn, takeDemoTurn, turnMsMax, type DemoTurn } from "./demo-turn.ts";

const program = fileURLToPath(new URL("main.ts", import.meta.url));
/** The demo takes a quarter of a minute on a quiet machine. */
const demoMsMax = 240_000;
const testMsMax = 2 * demoMsMax;
/** The ports that docs/examples names, and those of `--port`. */
const ports = [...examplePorts, 18_380, 18_381];
let turn: DemoTurn;

beforeAll(async () => {
  turn = await takeDemoTurn(ports);
}, turnMsMax);
afterAll(() => turn?.end());

interface Demo {
  readonly child: ChildProcessByStdio<null, Readable, Readable>;
  /** All that it wrote so far. */
  readonly text: () => string;
  /** Settles when it has ended and all of its text is read. */
  readonly closed: Promise<unknown>;
}

/** Starts a demo that ends with its test at the latest, since later tests need its ports. */
function startDemo(...flags: readonly string[]): Demo {
  const child = spawn(process.execPath, [program, ...flags, "--port", "18380"], { stdio: ["ignore", "pipe", "pipe"] });
  let text = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (part: string) => (text += part));
  const closed = once(child, "close");
  onTestFinished(async () => {
    child.kill("SIGTERM");
    const force = setTimeout(() => child.kill("SIGKILL"), stallMsMax);
    await closed;
    clearTimeout(force);
  });
  return { child, text: () => text, closed };
}

async function runDemoOnce(): Promise<{ readonly code: number | null; readonly text: string }> {
  const demo = startDemo("--once");
  await ended(demo);
  return { code: demo.child.exitCode, text: demo.text() };
}

/** Waits for the end of a demo; a demo that does not end is shown with what it wrote. */
async function ended({ child, text, closed }: Demo): Promise<void> {
  const isOver = () => child.exitCode !== null || child.signalCode !== null;
  await waitFor(isOver, { timeoutMs: demoMsMax, what: "the demo to end" }).catch((cause: unknown) => {
    throw new Error(`the demo does not end; it wrote:\n${text()}`, { cause });
  });
  await closed;
}

test(
  "the demo shows deliveries, a retry, a dead letter and metrics, and leaves no port open",
  { timeout: testMsMax },
  async () => {
    const { code, text } = await runDemoOnce();
    expect(text).toContain("default/acme-payments: delivered");
    expect(text).toContain("default/north-ledger: rejected, status_422");
    expect(text).toContain("x-query-shards: asked=2, answered=2");
    expect(code).toBe(0);
    expect(await arePortsFree(ports)).toBe(true);
  },
);

test("a demo that stays up leaves no port open when its reader goes away", { timeout: testMsMax }, async () => {
  const demo = startDemo();
  await waitFor(() => demo.text().includes("Heliograph applies") || demo.child.exitCode !== null, {
    timeoutMs: demoMsMax,
    what: "the demo to be up",
  });
  expect(demo.text()).toContain("Heliograph applies");
  demo.child.stdout.destroy();
  await ended(demo);
  expect(
    await waitFor(() => arePortsFree(ports), { timeoutMs: 60_000, what: "the ports of the demo to be free" }),
  ).toBe(true);
});

test("the demo says which port is taken and exits with 1", { timeout: testMsMax }, async () => {
  const taken = await listenOn(19_102);
  const { code, text } = await runDemoOnce();
  taken.close();
  expect(text).toContain("The partner north-ledger cannot listen on port 19102: end what uses it and try again.");
  expect(code).toBe(1);
});
