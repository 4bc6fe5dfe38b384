import type { Flag } from "../command-line/flag.ts";
import { UsageError, type Given } from "../command-line/given.ts";
import type { Command } from "../command-line/command.ts";
import { keyFileFlag, keyFlag, requiredKeySourceOf, schemeFlag, schemeOf, timeOf, urlOf } from "./partner-flags.ts";
import type { SignArguments } from "./print-signature.ts";

const signFlags = [
  keyFileFlag,
  keyFlag,
  {
    name: "key-id",
    value: "ID",
    help: "Name of the key in the signature instead of its thumbprint, which HttpMessageSignatures has.",
  },
  schemeFlag,
  {
    name: "path",
    value: "PATH",
    help: "Path of the endpoint; HttpMessageSignatures also signs the host and needs the URL.",
    required: true,
    variable: "HELIOGRAPH_ENDPOINT_PATH",
  },
  { name: "method", value: "METHOD", help: "Method of the request.", standard: "POST" },
  { name: "timestamp", value: "TIME", help: "Time of the attempt, in UTC; without it the clock of the machine." },
] as const satisfies readonly Flag[];

/** `heliograph sign` */
export const signCommand: Command<SignArguments> = {
  summary: "Prints the headers of a signed delivery of a file, or of the standard input.",
  operands: [{ name: "FILE", isOptional: true }],
  flags: signFlags,
  read: signArguments,
  run: async (args) => (await import("./print-signature.ts")).printSignature(args),
};

function signArguments(given: Given, [file = "-"]: readonly string[]): SignArguments {
  const path = given.text("path");
  const scheme = schemeOf(given);
  if (path.startsWith("/") && scheme === "HttpMessageSignatures")
    throw new UsageError("--path is the whole URL for HttpMessageSignatures, which signs the host.");
  const keyId = given.optional("key-id");
  const sentAtMs = timeOf(given, "timestamp");
  return {
    file,
    scheme,
    keys: requiredKeySourceOf(given),
    url: urlOf("path", path.startsWith("/") ? `http://localhost${path}` : path),
    method: given.text("method").toUpperCase(),
    ...(keyId === undefined ? {} : { keyId }),
    ...(sentAtMs === undefined ? {} : { sentAtMs }),
  };
}
