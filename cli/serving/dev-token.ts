import { type Flag, type Given, UsageError } from "../command-line/flags.ts";
import { parseDuration } from "../../runtime/metrics/request/time.ts";
import type { Command } from "../command-line/command.ts";
import { dataFlag } from "./server-flags.ts";
import type { TokenArguments } from "./print-token.ts";

const ttlSecondsMax = 30 * 86_400;

const devTokenFlags = [
  {
    name: "tenant",
    value: "TENANT",
    help: "A tenant of the token; `*` is every tenant, `-` events without one.",
    multiple: true,
    required: true,
  },
  {
    name: "scope",
    value: "SCOPE",
    help: "A scope of the token, for example events:write.",
    multiple: true,
    required: true,
  },
  { name: "client", value: "CLIENT", help: "Client of the token.", standard: "dev" },
  { name: "role", value: "ROLE", help: "A role of the token.", multiple: true },
  { name: "region", value: "REGION", help: "A region of the token; without one, every region.", multiple: true },
  {
    name: "environment",
    value: "ENVIRONMENT",
    help: "An environment of the token; without one, every environment.",
    multiple: true,
  },
  { name: "metric", value: "METRIC", help: "A metric of the token; without one, every metric.", multiple: true },
  {
    name: "partner",
    value: "NAMESPACE/NAME",
    help: "A webhook partner of the token; without one, every partner.",
    multiple: true,
  },
  {
    name: "ttl",
    value: "DURATION",
    help: "Lifetime of the token, for example 30m or 12h; at most 30d.",
    standard: "1h",
  },
  dataFlag,
] as const satisfies readonly Flag[];

/** `heliograph dev-token` */
export const devTokenCommand: Command<TokenArguments> = {
  summary: "Prints a token of the local development issuer, which only `run` on the same data folder trusts.",
  flags: devTokenFlags,
  read: tokenArguments,
  run: async (args) => (await import("./print-token.ts")).printToken(args),
};

function tokenArguments(given: Given): TokenArguments {
  const ttl = given.text("ttl");
  const ttlSeconds = parseDuration(ttl) ?? Number.NaN;
  if (!(ttlSeconds <= ttlSecondsMax))
    throw new UsageError(`--ttl is a duration such as 90s, 30m or 12h, at most 30d, not ${ttl}.`);
  return {
    dataFolder: given.text("data"),
    ttlSeconds,
    client: given.text("client"),
    tenants: given.list("tenant"),
    scopes: given.list("scope").flatMap((scopes) => scopes.split(/\s+/u)),
    roles: given.list("role"),
    regions: given.list("region"),
    environments: given.list("environment"),
    metrics: given.list("metric"),
    partners: given.list("partner"),
  };
}
