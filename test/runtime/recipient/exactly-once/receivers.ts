import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { guardAgainstOrphan } from "../../../support/server-process.ts";

const program = fileURLToPath(new URL("receiver.ts", import.meta.url));

/** One running process of the recipient. */
export interface Receiver {
  readonly port: number;
  /** Requests that the sender waits for. */
  inFlight: number;
}

/** Several processes of one recipient, which share a database. */
export interface Receivers {
  /** Those that serve now. */
  readonly alive: readonly Receiver[];
  /** How often each outcome was reported. */
  readonly outcomes: ReadonlyMap<string, number>;
  /** Ends a process with SIGKILL and starts another. Resolves when that serves. */
  replace(receiver: Receiver): Promise<void>;
  stop(): Promise<void>;
}

interface Running extends Receiver {
  readonly child: ChildProcess;
}

/** Starts processes that serve one database. */
export async function startReceivers(count: number, database: string, url: string, secret: string): Promise<Receivers> {
  const outcomes = new Map<string, number>();
  const alive: Running[] = [];
  const add = async (): Promise<void> => {
    alive.push(await startReceiver([database, url, secret], outcomes));
  };
  const end = async (receiver: Receiver): Promise<void> => {
    const index = alive.findIndex((one) => one === receiver);
    const [gone] = index < 0 ? [] : alive.splice(index, 1);
    if (gone === undefined || gone.child.exitCode !== null || gone.child.signalCode !== null) return;
    const exit = once(gone.child, "exit");
    gone.child.kill("SIGKILL");
    await exit;
  };
  const stop = async (): Promise<void> => {
    await Promise.all([...alive].map(end));
  };
  const started = await Promise.allSettled(Array.from({ length: count }, add));
  const failed = started.find((one) => one.status === "rejected");
  if (failed !== undefined) {
    await stop();
    throw failed.reason;
  }
  return { alive, outcomes, stop, replace: (receiver) => end(receiver).then(add) };
}

async function startReceiver(args: readonly string[], outcomes: Map<string, number>): Promise<Running> {
  const child = spawn(process.execPath, [program, ...args], { stdio: ["ignore", "pipe", "inherit"] });
  const guard = guardAgainstOrphan(child.pid ?? 0);
  child.once("exit", () => guard.release());
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  child.once("exit", (code) => reject(new Error(`a receiver ended with ${String(code)} before it served`)));
  createInterface({ input: child.stdout }).on("line", (line) => {
    if (/^\d+$/u.test(line)) resolve(Number(line));
    else outcomes.set(line, (outcomes.get(line) ?? 0) + 1);
  });
  return { port: await promise, child, inFlight: 0 };
}
