import type { Command } from "../command-line/command.ts";
import { apiFlags } from "../api/with-api.ts";
import { ownPartnerFlag, reasonFlag } from "./dead-letter-form.ts";
import { typeFlag } from "./event-filter.ts";
import { startArguments, startFlags, startReplay, type StartArguments } from "./replay-job.ts";

interface RedriveArguments extends StartArguments {
  readonly body: Readonly<Record<string, unknown>>;
  /** Number of named events. @default all */
  readonly named?: number;
}

/** `heliograph dlq redrive` */
export const redriveCommand: Command<RedriveArguments> = {
  summary: "Delivers dead letters of a partner again, all or those of some events; it counts them and asks first.",
  operands: [{ name: "EVENT", isOptional: true, isRepeated: true }],
  flags: [ownPartnerFlag, reasonFlag, { ...typeFlag, multiple: true }, ...startFlags, ...apiFlags],
  read: (given, eventIds) => {
    const reason = given.optional("reason");
    const body = {
      partner: given.text("partner"),
      types: given.list("type"),
      ...(reason === undefined ? {} : { reason }),
      ...(eventIds.length === 0 ? {} : { event_ids: eventIds }),
    };
    const named = eventIds.length === 0 ? {} : { named: new Set(eventIds).size };
    return { ...startArguments("dlq redrive", given), body, ...named };
  },
  run: (args, context) => {
    const named = args.named === undefined ? {} : { named: args.named };
    return startReplay({ path: "/webhooks/dead-letters/redrive", body: args.body, ...named }, args, context);
  },
};
