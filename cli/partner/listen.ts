import { type Flag, type Given, UsageError } from "../command-line/flags.ts";
import { outputFormatOf } from "../api/output.ts";
import type { Command } from "../command-line/command.ts";
import { apiArguments } from "../api/with-api.ts";
import { connectionFlags } from "../api/connection.ts";
import { sinceFlag, timeOf } from "../webhooks/event-forms.ts";
import type { FollowArguments } from "./follow-partner.ts";
import type { ListenArguments } from "./receive-deliveries.ts";
import {
  keyFileFlag,
  keyFlag,
  keySourceOf,
  partnerOutputFlag,
  requiredKeySourceOf,
  schemeFlag,
  schemeOf,
  urlOf,
} from "./partner-flags.ts";

const portMax = 65_535;

const listenFlags = [
  {
    name: "port",
    value: "PORT",
    help: "Port on 127.0.0.1; 0 picks a free one.",
    standard: "4000",
    variable: "HELIOGRAPH_LISTEN_PORT",
  },
  { ...keyFileFlag, help: `${keyFileFlag.help} Without a key, nothing is verified.` },
  keyFlag,
  schemeFlag,
  {
    name: "forward",
    value: "URL",
    help:
      "Origin of an endpoint to forward verified deliveries to, unchanged; with `--partner`, the URL of the " +
      "endpoint.",
  },
  {
    name: "partner",
    value: "NAMESPACE/NAME",
    help: "Follows this partner's events on a server instead of opening a port. The key signs forwarded deliveries.",
  },
  { ...sinceFlag, help: `${sinceFlag.help} Only with \`--partner\`, on the first run.`, standard: "10s" },
  {
    name: "place-file",
    value: "FILE",
    help:
      "File that stores the position in the partner's events; defaults to a file in `.heliograph` named after the " +
      "partner.",
  },
  partnerOutputFlag,
  ...connectionFlags,
] as const satisfies readonly Flag[];

/** `heliograph listen` */
export const listenCommand: Command<ListenArguments | FollowArguments> = {
  summary: "Receives, verifies and prints deliveries on this machine until you press Ctrl-C.",
  flags: listenFlags,
  read: (given) => (given.optional("partner") === undefined ? listenArguments(given) : followArguments(given)),
  run: async (args, context) =>
    "partner" in args
      ? (await import("./follow-partner.ts")).followPartner(args, context)
      : (await import("./receive-deliveries.ts")).receiveDeliveries(args, context),
};

function listenArguments(given: Given): ListenArguments {
  const forward = given.optional("forward");
  return {
    port: given.whole("port", 0, portMax),
    scheme: schemeOf(given),
    keys: keySourceOf(given),
    format: outputFormatOf(given),
    forward: forward === undefined ? undefined : originOf(forward),
  };
}

/** @throws UsageError without a key for what is forwarded */
function followArguments(given: Given): FollowArguments {
  const partner = given.text("partner");
  const forward = given.optional("forward");
  return {
    ...apiArguments(given),
    partner,
    from: timeOf(given, "since", Date.now()) ?? "",
    placeFile: given.optional("place-file") ?? `.heliograph/listen-${partner.replaceAll(/[^\w.-]/gu, "-")}.json`,
    scheme: schemeOf(given),
    keys: forward === undefined ? keySourceOf(given) : requiredKeySourceOf(given),
    forward: forward === undefined ? undefined : urlOf("forward", forward),
  };
}

/** The signature covers the path, so that a delivery keeps its own. */
function originOf(text: string): URL {
  const url = urlOf("forward", text);
  if (url.pathname === "/" && url.search === "") return url;
  throw new UsageError(
    `--forward must be an origin such as ${url.origin}, because the signed path of a delivery must not change.`,
  );
}
