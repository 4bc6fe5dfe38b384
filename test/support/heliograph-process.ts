import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { recordingVariables } from "../contract/exchange.ts";
import { guardAgainstOrphan } from "./server-process.ts";
import { waitFor } from "./wait.ts";

const program = fileURLToPath(new URL("../../cli/heliograph.ts", import.meta.url));
/** Records the exchanges of servers, which are compared with the OpenAPI document after each test. */
const recorder = new URL("../contract/record.ts", import.meta.url).href;
const readyTimeoutMs = 30_000;

interface ProgramOptions {
  /** Added to this process's environment, from which every `HELIOGRAPH_…` is taken away. */
  readonly environment?: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

interface ProgramResult {
  /** Null when a signal ended the program. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** The one line that `heliograph run` prints when it is ready. */
export interface ReadyLine {
  readonly ready: true;
  readonly url: string;
  readonly admin_url: string;
  readonly nats_url: string;
  readonly pid: number;
  readonly config_hash: string;
}

/** A running `heliograph`. */
export interface Program {
  readonly pid: number;
  stdout(): string;
  stderr(): string;
  /** Log lines so far, parsed. */
  logLines(): readonly Readonly<Record<string, unknown>>[];
  /** The ready line, once it is printed. @throws Error with the log when the program ends first */
  ready(): Promise<ReadyLine>;
  signal(signal: NodeJS.Signals): void;
  /** Resolves when the program has ended. */
  ended(): Promise<ProgramResult>;
}

/** Starts the program as a process of its own. */
export function startProgram(args: readonly string[], options: ProgramOptions = {}): Program {
  const child = spawn(process.execPath, ["--import", recorder, program, ...args], {
    cwd: options.cwd,
    env: { ...cleanEnvironment(), ...recordingVariables(), ...options.environment },
    stdio: ["ignore", "pipe", "pipe"],
    // A session of its own, so that Ctrl-C reaches only its parent, which then ends it in order.
    detached: true,
  });
  const output = collect(child);
  const closed = once(child, "close");
  // SIGTERM, so that the program ends the nats-server that it started.
  const guard = guardAgainstOrphan(child.pid ?? 0, "TERM");
  child.once("close", () => guard.release());
  const result = (): ProgramResult => ({ code: child.exitCode, ...output });
  return {
    pid: child.pid ?? 0,
    stdout: () => output.stdout,
    stderr: () => output.stderr,
    logLines: () => parsedLines(output.stderr),
    ready: () => readyOf(child, output),
    signal: (signal) => void child.kill(signal),
    ended: async () => {
      await closed;
      return result();
    },
  };
}

/** Runs the program to its end. */
export async function runProgram(args: readonly string[], options: ProgramOptions = {}): Promise<ProgramResult> {
  return startProgram(args, options).ended();
}

function cleanEnvironment(): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("HELIOGRAPH_")));
}

function collect(child: ChildProcess): { stdout: string; stderr: string } {
  const output = { stdout: "", stderr: "" };
  child.stdout?.setEncoding("utf8").on("data", (text: string) => {
    output.stdout += text;
  });
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    output.stderr += text;
  });
  return output;
}

function parsedLines(text: string): readonly Readonly<Record<string, unknown>>[] {
  const lines = text.split("\n").filter((line) => line.startsWith("{") && line.endsWith("}"));
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
}

async function readyOf(child: ChildProcess, output: { stdout: string; stderr: string }): Promise<ReadyLine> {
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null;
  const what = "the program to be ready";
  await waitFor(() => output.stdout.includes("\n") || hasEnded(), { timeoutMs: readyTimeoutMs, what });
  if (!output.stdout.includes("\n")) throw new Error(`the program ended with ${child.exitCode}: ${output.stderr}`);
  return JSON.parse(output.stdout) as ReadyLine;
}
