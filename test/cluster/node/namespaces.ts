import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { join } from "node:path";
import { waitFor } from "../../support/wait.ts";
import { run, type RunOptions, type RunResult } from "../../tools/run.ts";
import { childrenOf, identify, type ProcessIdentity, programOf } from "./process-identity.ts";

/** The variable that marks every process started for a node, with the node's folder as its value. */
export const markVariable = "HELIOGRAPH_CLUSTER_NODE";

const initTimeoutMs = 10_000;

/**
 * How to start a process in a node: in all its namespaces, where it ends with the node; or only in its network, with
 * this machine's files and processes around it.
 */
export function enterArgs(initPid: number, namespaces: "node" | "network"): readonly string[] {
  const kinds = namespaces === "node" ? ["--mount", "--net", "--pid"] : ["--net"];
  return ["--target", String(initPid), ...kinds, "--"];
}

/** How to start a node's namespaces; `record` is called, and returns, before the new process does anything. */
interface NamespaceRequest {
  readonly tini: string;
  readonly env: Readonly<Record<string, string>>;
  readonly log: string;
  readonly record: (outer: ProcessIdentity) => void;
}

/**
 * Makes mount, network and process namespaces and answers the process that holds them, which is process 1 inside. When
 * it ends in whatever way, the kernel ends every process in them and drops every mount, link, rule and route with them,
 * so that nothing of a node can outlive it. The same happens when `unshare` ends, whose child it is.
 */
export async function startNamespaces(request: NamespaceRequest): Promise<ProcessIdentity> {
  const log = openSync(request.log, "a");
  const unshare = ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc", "--"];
  const init = [request.tini, "--", "sleep", "infinity"];
  // The shell waits for a word: a starter that is killed before it recorded the process leaves nothing behind.
  const child = spawn("/bin/sh", ["-c", 'read -r word && exec "$@"', "sh", ...unshare, ...init], {
    detached: true,
    stdio: ["pipe", log, log],
    env: request.env,
    cwd: "/",
  });
  closeSync(log);
  await once(child, "spawn");
  const outer = identify(child.pid ?? 0);
  if (outer === undefined) throw new Error("the node's namespaces ended at once");
  request.record(outer);
  child.stdin?.end("go\n");
  child.unref();
  const find = (): ProcessIdentity | undefined => {
    const pid = childrenOf(outer.pid).find((inner) => programOf(inner) === "tini");
    return pid === undefined ? undefined : identify(pid);
  };
  return waitFor(find, { timeoutMs: initTimeoutMs, what: `the node's first process (see ${request.log})` });
}

/** A server of the node that was started. */
export interface Daemon {
  readonly name: string;
  /** How it ended, as a sentence; undefined while it runs. */
  ended(): string | undefined;
}

/** What to start in a node, and where its output goes. */
interface DaemonRequest {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly logs: string;
}

/** Starts a server in a node's namespaces; it goes on when this process ends. */
export function startDaemon(initPid: number, request: DaemonRequest): Daemon {
  const log = openSync(logPath(request.logs, request.name), "a");
  const child = spawn("nsenter", [...enterArgs(initPid, "node"), request.command, ...request.args], {
    detached: true,
    stdio: ["ignore", log, log],
    env: request.env,
    cwd: "/",
  });
  closeSync(log);
  let end: string | undefined;
  child.on("error", (error) => (end = `${request.name} could not be started: ${error.message}`));
  child.on("exit", (code, signal) => (end = `${request.name} ended with ${String(code ?? signal)}`));
  child.unref();
  return { name: request.name, ended: () => end };
}

/** Where a server of the node logs. */
export function logPath(logs: string, name: string): string {
  return join(logs, `${name}.log`);
}

/** Runs a command in a node's namespaces to its end; a failed command is a result, not an error. */
export function runInNode(
  initPid: number,
  namespaces: "node" | "network",
  command: readonly string[],
  options: RunOptions,
): Promise<RunResult> {
  return run("nsenter", [...enterArgs(initPid, namespaces), ...command], options);
}
