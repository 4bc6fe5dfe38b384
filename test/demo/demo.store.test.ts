import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, type Server } from "node:net";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const program = fileURLToPath(new URL("main.ts", import.meta.url));
const demoMsMax = 180_000;
/** The ports that docs/examples names, and those of the test's own `--port`. */
const ports = [19_091, 19_092, 19_101, 19_102, 18_380, 18_381];

async function runDemoOnce(): Promise<{ readonly code: number | null; readonly text: string }> {
  const child = spawn(process.execPath, [program, "--once", "--port", "18380"], { stdio: ["ignore", "pipe", "pipe"] });
  let text = "";
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (part: string) => (text += part));
  await once(child, "close");
  return { code: child.exitCode, text };
}

async function listenOn(port: number): Promise<Server> {
  const server = createServer().listen(port, "127.0.0.1");
  await once(server, "listening");
  return server;
}

test("the demo shows deliveries, a retry, a dead letter and metrics, and leaves no port open", { timeout: demoMsMax }, async () => {
  const { code, text } = await runDemoOnce();
  expect(text).toContain("default/acme-payments: delivered");
  expect(text).toContain("default/north-ledger: rejected, status_422");
  expect(text).toContain("x-query-shards: asked=2, answered=2");
  expect(code).toBe(0);
  for (const port of ports) (await listenOn(port)).close();
});

test("the demo says which port is taken and exits with 1", { timeout: demoMsMax }, async () => {
  const taken = await listenOn(19_102);
  const { code, text } = await runDemoOnce();
  taken.close();
  expect(text).toContain("The partner north-ledger cannot listen on port 19102: end what uses it and try again.");
  expect(code).toBe(1);
});
