import { execFile } from "node:child_process";

/** What came of one command that ran to its end or could not start. */
export interface RunResult {
  /** 0 is success; 127 when the program does not exist. */
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** How to run a command. */
export interface RunOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
}

const outputBytesMax = 16 * 1024 * 1024;
const outputLinesShown = 15;

/** Runs a command to its end; never throws, also not when there is no such program. */
export function run(command: string, args: readonly string[], options: RunOptions): Promise<RunResult> {
  const { promise, resolve } = Promise.withResolvers<RunResult>();
  const settings = {
    cwd: options.cwd,
    env: { ...process.env, ...options.env },
    timeout: options.timeoutMs,
    maxBuffer: outputBytesMax,
  };
  execFile(command, args, settings, (error, stdout, stderr) => {
    if (error === null) return resolve({ code: 0, stdout, stderr });
    const code = typeof error.code === "number" ? error.code : 1;
    resolve({ code: String(error.code) === "ENOENT" ? 127 : code, stdout, stderr: stderr || error.message });
  });
  return promise;
}

/** Runs a command to its end and answers its output. @throws Error with the last lines when it fails */
export async function succeed(command: string, args: readonly string[], options: RunOptions): Promise<string> {
  const { code, stdout, stderr } = await run(command, args, options);
  if (code === 0) return stdout;
  const lines = `${stdout}\n${stderr}`.trim().split("\n").slice(-outputLinesShown).join("\n");
  throw new Error(`${command} ${args.slice(0, 2).join(" ")} failed:\n${lines}`);
}
