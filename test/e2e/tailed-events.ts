import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { waitFor } from "../support/wait.ts";
import type { Shell } from "./page-commands.ts";

/** A `kubectl heliograph events tail` that runs. */
export interface Tail {
  /** Waits until the command has printed an event. @throws Error with what it said */
  printed(eventId: string): Promise<void>;
  close(): Promise<void>;
}

const printedMsMax = 60_000;

/** Starts the command, which prints each event as one line of JSON. */
export function tailEvents({ cwd, env }: Shell): Tail {
  const args = ["heliograph", "--namespace", "shop", "events", "tail", "--since", "10m", "--output", "json"];
  const child = spawn("kubectl", args, { cwd, env: { ...process.env, ...env }, stdio: ["ignore", "pipe", "pipe"] });
  const ended = once(child, "exit");
  const ids = new Set<string>();
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => (said += chunk));
  createInterface(child.stdout).on("line", (line) => ids.add((JSON.parse(line) as { event_id: string }).event_id));
  return {
    printed: async (eventId) => {
      const look = (): boolean => {
        if (ids.has(eventId)) return true;
        throw new Error(`it printed ${[...ids].join(", ")} and said ${said}`);
      };
      await waitFor(look, { timeoutMs: printedMsMax, pollMs: 100, what: `${eventId} at the tail` });
    },
    close: async () => {
      if (child.exitCode === null && child.signalCode === null) child.kill();
      await ended;
    },
  };
}
