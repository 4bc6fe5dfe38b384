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
    help: "Tenant of the token; `*` is all tenants, `-` is events without a tenant.",
    multiple: true,
    required: true,
  },
  {
    name: "scope",
    value: "SCOPE",
    help: "Scope of the token, for example events:write.",
    multiple: true,
    required: true,
  },
  { name: "client", value: "CLIENT", help: "Client of the token.", standard: "dev" },
  { name: "role", value: "ROLE", help: "Role of the token.", multiple: true },
  { name: "region", value: "REGION", help: "Region of the token; defaults to all regions.", multiple: true },
  {
    name: "environment",
    value: "ENVIRONMENT",
    help: "Environment of the token; defaults to all environments.",
    multiple: true,
  },
  { name: "metric", value: "METRIC", help: "Metric of the token; defaults to all metrics.", multiple: true },
  {
    name: "partner",
    value: "NAMESPACE/NAME",
    help: "Webhook partner of the token; defaults to all partners.",
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
  summary: "Prints a token from the local development issuer, trusted only by `run` on the same data folder.",
  flags: devTokenFlags,
  read: tokenArguments,
  run: async (args) => (await import("./print-token.ts")).printToken(args),
};

function tokenArguments(given: Given): TokenArguments {
  const ttl = given.text("ttl");
  const ttlSeconds = parseDuration(ttl) ?? Number.NaN;
  if (!(ttlSeconds <= ttlSecondsMax))
    throw new UsageError(`--ttl must be a duration such as 90s, 30m or 12h, at most 30d, not ${ttl}.`);
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
