import type { Flag } from "../command-line/flag.ts";
import { UsageError, type Given } from "../command-line/given.ts";
import { outputFormatOf } from "../api/output.ts";
import type { Command } from "../command-line/command.ts";
import {
  dataTextFlag,
  keyFileFlag,
  keyFlag,
  partnerOutputFlag,
  requiredKeySourceOf,
  schemeFlag,
  schemeOf,
  urlOf,
} from "./partner-flags.ts";
import type { TriggerArguments } from "./send-once.ts";

const triggerFlags = [
  { name: "to", value: "URL", help: "The endpoint; an address of any network is allowed.", required: true },
  keyFileFlag,
  keyFlag,
  schemeFlag,
  dataTextFlag,
  {
    name: "file",
    short: "f",
    value: "FILE",
    help: "File of the data of the event instead of --data; `-` reads it from the standard input.",
    variable: "HELIOGRAPH_EVENT_FILE",
  },
  { name: "event-id", value: "ID", help: "Id of the event; without it a new one." },
  { name: "tenant", value: "TENANT", help: "Tenant of the event; without it none." },
  partnerOutputFlag,
] as const satisfies readonly Flag[];

/** `heliograph trigger` */
export const triggerCommand: Command<TriggerArguments> = {
  summary: "Sends one signed test event from this machine to an endpoint, and prints its response.",
  operands: [{ name: "TYPE" }],
  flags: triggerFlags,
  read: triggerArguments,
  run: async (args, context) => (await import("./send-once.ts")).sendOnce(args, context),
};

function triggerArguments(given: Given, [type = ""]: readonly string[]): TriggerArguments {
  const data = given.optional("data");
  const file = given.optional("file");
  if (data !== undefined && file !== undefined) throw new UsageError("Give --data or --file, not both.");
  const eventId = given.optional("event-id");
  const tenant = given.optional("tenant");
  return {
    type,
    ...targetOf(given),
    keys: requiredKeySourceOf(given),
    format: outputFormatOf(given),
    ...(data === undefined ? {} : { data }),
    ...(file === undefined ? {} : { file }),
    ...(eventId === undefined ? {} : { eventId }),
    ...(tenant === undefined ? {} : { tenant }),
  };
}

/** The endpoint and the scheme, if a partner could have both. @throws UsageError */
function targetOf(given: Given): Pick<TriggerArguments, "to" | "scheme"> {
  const to = urlOf("to", given.text("to"));
  const scheme = schemeOf(given);
  if (scheme === "HmacV1" && to.href.includes("?"))
    throw new UsageError(
      "--to has no query under HmacV1, which signs the path alone, so no partner can have this URL. Remove the query " +
        "or name another --scheme.",
    );
  return { to, scheme };
}
