import type { Flag } from "../command-line/flag.ts";
import { UsageError, type Given } from "../command-line/given.ts";
import { outputFormatOf } from "../api/output.ts";
import type { Command } from "../command-line/command.ts";
import type { VerifyArguments } from "./check-delivery.ts";
import {
  keyFileFlag,
  keyFlag,
  partnerOutputFlag,
  requiredKeySourceOf,
  schemeFlag,
  schemeOf,
  timeOf,
} from "./partner-flags.ts";

const verifyFlags = [
  keyFileFlag,
  keyFlag,
  schemeFlag,
  {
    name: "headers",
    value: "FILE",
    help: "File of the headers as received, one per line; a first line such as `POST /path` has method and path.",
    required: true,
  },
  { name: "method", value: "METHOD", help: "Method of the request.", standard: "POST" },
  {
    name: "path",
    value: "PATH",
    help: "Path of the request as received; without it that of the file of headers.",
    variable: "HELIOGRAPH_ENDPOINT_PATH",
  },
  { name: "now", value: "TIME", help: "Clock of the recipient, in UTC; without it that of the machine." },
  partnerOutputFlag,
] as const satisfies readonly Flag[];

/** `heliograph verify` */
export const verifyCommand: Command<VerifyArguments> = {
  summary: "Verifies a received delivery, whose body is a file or the standard input, and says which check failed.",
  operands: [{ name: "FILE", isOptional: true }],
  flags: verifyFlags,
  read: verifyArguments,
  run: async (args, context) => (await import("./check-delivery.ts")).checkDelivery(args, context),
};

function verifyArguments(given: Given, [file = "-"]: readonly string[]): VerifyArguments {
  const path = given.optional("path");
  const nowMs = timeOf(given, "now");
  const headers = given.text("headers");
  if (headers === "-" && file === "-")
    throw new UsageError("The headers and the body cannot both be the standard input.");
  return {
    file,
    headers,
    scheme: schemeOf(given),
    keys: requiredKeySourceOf(given),
    method: given.text("method"),
    format: outputFormatOf(given),
    ...(path === undefined ? {} : { path }),
    ...(nowMs === undefined ? {} : { nowMs }),
  };
}
