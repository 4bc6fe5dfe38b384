import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, test } from "vitest";
import { startServerProcess } from "./server-process.ts";
import { waitFor } from "./wait.ts";

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

test("a server that ends early is reported with the last lines of its log", async () => {
  const started = startServerProcess({
    name: "doomed",
    command: "/bin/sh",
    args: ["-c", "echo first; echo no such config >&2; exit 3"],
    ready: async () => false,
  });
  await expect(started).rejects.toThrow(
    /doomed ended with 3 before it was ready\. The last lines of its log:\n[^]*no such config/u,
  );
});

test("a server that stays silent is ended and reported", async () => {
  let pid = 0;
  const started = startServerProcess({
    name: "silent",
    command: "/bin/sleep",
    args: ["60"],
    readyTimeoutMs: 100,
    ready: async (server) => {
      pid = server.pid;
      return false;
    },
  });
  await expect(started).rejects.toThrow("silent did not answer within 100 ms");
  expect(isAlive(pid)).toBe(false);
});

test("a program that does not exist is named", async () => {
  const started = startServerProcess({
    name: "absent",
    command: "/no/such/program",
    args: [],
    ready: async () => true,
  });
  await expect(started).rejects.toThrow("absent could not be started from /no/such/program");
});

test("a server ends when the process that started it is killed", async () => {
  const module = new URL("./server-process.ts", import.meta.url).href;
  const script = [
    `const { startServerProcess } = await import(${JSON.stringify(module)});`,
    `const server = await startServerProcess({ name: "s", command: "/bin/sleep", args: ["60"], ready: async () ` +
      "=> true });",
    "console.log(server.pid);",
  ].join("\n");
  const parent = spawn(process.execPath, ["--input-type=module", "-e", script], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [line] = (await once(parent.stdout, "data")) as [Buffer];
  const pid = Number(line.toString());
  expect(isAlive(pid)).toBe(true);
  parent.kill("SIGKILL");
  await waitFor(() => !isAlive(pid), { timeoutMs: 20_000, what: "the orphaned server to end" });
});
