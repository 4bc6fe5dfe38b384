import { UsageError, oneOf } from "../command-line/flags.ts";
import { parseDuration } from "../../runtime/metrics/request/time.ts";
import { connectionFlags, connectionOf } from "../api/connection.ts";
import type { Command } from "../command-line/command.ts";
import type { DiffArguments } from "./print-diff.ts";

/** `heliograph diff` */
export const diffCommand: Command<DiffArguments> = {
  summary: "Previews the effect of a configuration change on resources, recorded events and recorded queries.",
  operands: [{ name: "PATH" }, { name: "EDITED", isOptional: true }],
  flags: [
    {
      name: "since",
      value: "DURATION",
      help: "Also compare the recipients of events stored during this time, for example 24h or 7d.",
    },
    {
      name: "events",
      value: "FILE",
      help: "With two folders: a file of events, one JSON object per line, instead of events on a server.",
      variable: "HELIOGRAPH_DIFF_EVENTS",
    },
    {
      name: "prune",
      help: "Treat objects that PATH does not contain as deleted; by default they stay.",
    },
    {
      name: "output",
      short: "o",
      value: "FORM",
      help: "Output format: text, json, or markdown for a pull request.",
      variable: "HELIOGRAPH_DIFF_OUTPUT",
      standard: "text",
    },
    ...connectionFlags,
  ],
  read: (given, [place = "", edited]) => {
    const [since, events] = [given.optional("since"), given.optional("events")];
    const output = oneOf(given, "output", ["text", "json", "markdown"]);
    if (edited !== undefined) {
      if (since !== undefined) throw new UsageError("--since compares with a server; remove it or the second path.");
      return { output, before: place, after: edited, events };
    }
    if (events !== undefined) throw new UsageError("--events compares two folders; add the second folder.");
    const sinceSeconds = since === undefined ? undefined : sinceSecondsOf(since);
    return { output, after: place, prune: given.isSet("prune"), sinceSeconds, connect: connectionOf(given) };
  },
  run: async (args) => (await import("./print-diff.ts")).printDiff(args),
};

function sinceSecondsOf(text: string): number {
  const seconds = parseDuration(text);
  if (seconds !== undefined) return seconds;
  throw new UsageError(`--since must be a duration such as 90s, 30m, 12h or 7d, at most 3660d, not ${text}.`);
}
