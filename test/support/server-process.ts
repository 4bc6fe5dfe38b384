import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";

const logLinesMax = 200;
const logLinesShown = 15;
const pollMs = 20;
const readyTimeoutMsDefault = 30_000;
const stopTimeoutMsDefault = 10_000;

/** How to start one server and how to see that it is ready. */
export interface ServerProcessOptions {
  /** What it is called in errors. */
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** True as soon as the server answers; a throw counts as "not yet". */
  readonly ready: (process: { readonly pid: number }) => Promise<boolean>;
  /** @default 30000 */
  readonly readyTimeoutMs?: number;
  /** The user and group that it runs as, for a server that refuses root. @default those of this process */
  readonly user?: { readonly uid: number; readonly gid: number };
  /** @default the folder of this process */
  readonly cwd?: string;
  /** The signal that ends it in order. @default "SIGTERM" */
  readonly stopSignal?: NodeJS.Signals;
}

/** A running server that answered at least once. */
export interface ServerProcess {
  readonly pid: number;
  /** The last lines of its log, oldest first. */
  log(): string;
  /** Ends it with its stop signal, and with SIGKILL when it takes longer than ten seconds; resolves when it is gone. */
  stop(): Promise<void>;
  /** Ends it with SIGKILL, as a crash would; resolves when it is gone. */
  kill9(): Promise<void>;
}

/**
 * Starts a server and waits until it answers.
 *
 * @throws Error with the last lines of the server's log when it exits or stays silent; it is ended first
 */
export async function startServerProcess(options: ServerProcessOptions): Promise<ServerProcess> {
  const child = spawn(options.command, options.args, {
    env: { ...process.env, ...options.env },
    stdio: ["ignore", "pipe", "pipe"],
    ...options.user,
    cwd: options.cwd,
  });
  const lines = keepLastLines(child);
  await started(child, options);
  const pid = child.pid ?? 0;
  const guard = guardAgainstOrphan(pid);
  const end = (signal: NodeJS.Signals): Promise<void> => endProcess(child, signal).finally(() => guard.release());
  try {
    await untilReady(child, pid, options);
  } catch (error) {
    await end("SIGKILL");
    const tail = lines.slice(-logLinesShown).join("\n");
    throw new Error(`${messageOf(error)}. The last lines of its log:\n${tail}`, { cause: error });
  }
  const stop = (): Promise<void> => end(options.stopSignal ?? "SIGTERM");
  return { pid, log: () => lines.join("\n"), stop, kill9: () => end("SIGKILL") };
}

function keepLastLines(child: ChildProcess): readonly string[] {
  const lines: string[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    let rest = "";
    stream?.setEncoding("utf8").on("data", (chunk: string) => {
      const parts = (rest + chunk).split("\n");
      rest = parts.pop() ?? "";
      lines.push(...parts);
      lines.splice(0, lines.length - logLinesMax);
    });
  }
  return lines;
}

async function started(child: ChildProcess, options: ServerProcessOptions): Promise<void> {
  try {
    await once(child, "spawn");
  } catch (error) {
    throw new Error(`${options.name} could not be started from ${options.command}: ${messageOf(error)}`, {
      cause: error,
    });
  }
}

async function untilReady(child: ChildProcess, pid: number, options: ServerProcessOptions): Promise<void> {
  const timeoutMs = options.readyTimeoutMs ?? readyTimeoutMsDefault;
  const deadlineMs = performance.now() + timeoutMs;
  while (performance.now() < deadlineMs) {
    if (hasEnded(child))
      throw new Error(`${options.name} ended with ${String(child.exitCode ?? child.signalCode)} before it was ready`);
    if (await options.ready({ pid }).catch(() => false)) return;
    await sleep(pollMs);
  }
  throw new Error(`${options.name} did not answer within ${timeoutMs} ms`);
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}

async function endProcess(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (hasEnded(child)) return;
  const gone = once(child, "exit");
  child.kill(signal);
  const patience = setTimeout(() => child.kill("SIGKILL"), stopTimeoutMsDefault);
  await gone.finally(() => clearTimeout(patience));
}

/**
 * Ends a child when this process dies in whatever way, SIGKILL included: a shell waits on a pipe of ours, whose end the
 * kernel closes with us. It runs in a session of its own, so that Ctrl-C does not take it first.
 */
export function guardAgainstOrphan(pid: number, signal: "KILL" | "TERM" = "KILL"): { release(): void } {
  const script = 'read -r word || kill -s "$2" "$1"';
  const guard = spawn("/bin/sh", ["-c", script, "guard", String(pid), signal], {
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
  });
  guard.unref();
  // A guard that is already gone makes the write fail; there is nothing left to release then.
  guard.stdin.on("error", () => undefined);
  return { release: () => void guard.stdin.end("released\n") };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
