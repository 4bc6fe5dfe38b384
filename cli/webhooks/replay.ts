import { UsageError, type Given } from "../command-line/given.ts";
import { apiFlags } from "../api/with-api.ts";
import type { Command } from "../command-line/command.ts";
import { partnerFlag, sinceFlag, timeOf, typeFlag, untilFlag } from "./event-filter.ts";
import { startArguments, startFlags, startReplay, type StartArguments } from "./replay-job.ts";

interface ReplayArguments extends StartArguments {
  readonly body: Readonly<Record<string, unknown>>;
}

/** `heliograph replay` */
export const replayCommand: Command<ReplayArguments> = {
  summary: "Delivers events of a time, or named ones, again; it counts them and asks first.",
  operands: [{ name: "EVENT", isOptional: true, isRepeated: true }],
  flags: [
    sinceFlag,
    untilFlag,
    { ...typeFlag, multiple: true },
    { ...partnerFlag, multiple: true },
    { name: "only-failed", help: "Only deliveries that ended without success." },
    { name: "force", help: "Also deliveries whose event id the partner may have forgotten." },
    ...startFlags,
    ...apiFlags,
  ],
  read: (given, eventIds) => ({ ...startArguments("replay", given), body: bodyOf(given, eventIds) }),
  run: (args, context) => startReplay({ path: "/webhooks/replay", body: args.body }, args, context),
};

function bodyOf(given: Given, eventIds: readonly string[]): ReplayArguments["body"] {
  const nowMs = Date.now();
  const [from, to] = [timeOf(given, "since", nowMs), timeOf(given, "until", nowMs)];
  const hasIds = eventIds.length > 0;
  if (hasIds === (from !== undefined) || (hasIds && to !== undefined))
    throw new UsageError("replay needs --since, or the ids of events, and not both.");
  return {
    ...(hasIds ? { event_ids: eventIds } : { from }),
    ...(to === undefined ? {} : { to }),
    types: given.list("type"),
    partners: given.list("partner"),
    only_failed: given.isSet("only-failed"),
    force: given.isSet("force"),
  };
}
