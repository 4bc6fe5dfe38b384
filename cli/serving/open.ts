import { type Flag, type Given, UsageError } from "../command-line/flags.ts";
import { parseDuration } from "../../runtime/metrics/request/time.ts";
import { baseUrlOf } from "../api/connection.ts";
import type { Command } from "../command-line/command.ts";
import { dataFlag } from "./server-flags.ts";
import type { OpenArguments } from "./open-console.ts";

const ttlSecondsMax = 12 * 3_600;

const openFlags = [
  {
    name: "url",
    value: "URL",
    help: "Base URL of the server; defaults to the URL of the login, then http://127.0.0.1:8080.",
  },
  { ...dataFlag, help: "Data folder of the `run` or `up` on this machine; its issuer signs the token." },
  { name: "role", value: "ROLE", help: "Role of the token.", multiple: true },
  {
    name: "ttl",
    value: "DURATION",
    help: "Lifetime of the token, for example 30m; at most 12h.",
    standard: "1h",
  },
  { name: "print", help: "Prints the address without starting a browser." },
] as const satisfies readonly Flag[];

/** `heliograph open` */
export const openCommand: Command<OpenArguments> = {
  summary: "Opens the console in a browser, signed in as an administrator if the server runs on this machine.",
  flags: openFlags,
  inCluster: "forward a port and paste a token (docs/how-to/console.md)",
  read: openArguments,
  run: async (args, { environment }) => (await import("./open-console.ts")).openConsole(args, environment),
};

/** @throws UsageError */
function openArguments(given: Given): OpenArguments {
  const ttl = given.text("ttl");
  const ttlSeconds = parseDuration(ttl) ?? Number.NaN;
  if (!(ttlSeconds <= ttlSecondsMax))
    throw new UsageError(`--ttl must be a duration such as 90s, 30m or 8h, at most 12h, not ${ttl}.`);
  const url = given.optional("url");
  return {
    url: url === undefined ? undefined : baseUrlOf(url),
    dataFolder: given.text("data"),
    roles: given.list("role"),
    ttlSeconds,
    isPrinted: given.isSet("print"),
  };
}
