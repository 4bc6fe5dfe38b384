import { spawn } from "node:child_process";
import { once } from "node:events";
import { openSync, closeSync } from "node:fs";

/** A server that ends with this process. */
export type Child = ReturnType<typeof startChild>;

const stopMsMax = 30_000;

/**
 * Starts a server in a session of its own, so that Ctrl-C reaches this process only. When this process is killed, a
 * shell that waits for its end stops the server.
 * @param log file of its standard error
 */
export function startChild(command: string, args: readonly string[], log: string) {
  const file = openSync(log, "w", 0o600);
  const child = spawn(command, args, { stdio: ["ignore", "pipe", file], detached: true });
  closeSync(file);
  let output = "";
  child.stdout?.setEncoding("utf8").on("data", (text: string) => (output += text));
  const ended = new Promise<number | null>((resolve) => {
    child.once("exit", resolve).once("error", () => resolve(null));
  });
  const release = child.pid === undefined ? undefined : guard(child.pid);
  let hasEnded = false;
  void ended.then(() => {
    hasEnded = true;
    release?.();
  });
  return {
    /** Resolves with the exit code when it has ended; null after a signal. */
    ended,
    hasEnded: () => hasEnded,
    /** Text on its standard output so far. */
    output: () => output,
    stop: async () => {
      child.kill("SIGTERM");
      const late = setTimeout(() => child.kill("SIGKILL"), stopMsMax);
      await ended;
      clearTimeout(late);
    },
  };
}

/** Stops a process when this one ends without a word. */
function guard(pid: number): () => void {
  const shell = spawn("/bin/sh", ["-c", 'read -r word || kill -s TERM "$1"', "guard", String(pid)], {
    stdio: ["pipe", "ignore", "ignore"],
    detached: true,
  });
  shell.unref();
  shell.stdin.on("error", () => undefined);
  void once(shell, "error").catch(() => undefined);
  return () => void shell.stdin.end("released\n");
}
