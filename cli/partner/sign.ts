import type { SigningScheme } from "../../crds/signing-key.ts";
import { version } from "../../runtime/version.ts";
import { deliveryHeaders } from "../../runtime/webhooks/signing/signed-request.ts";
import type { SigningKey } from "../../runtime/webhooks/signing/keys.ts";
import { type Command, CommandError, type ExitName } from "../command-line/command.ts";
import { type Flag, type Given, UsageError } from "../command-line/flags.ts";
import {
  keyFileFlag,
  keyFlag,
  type KeySource,
  requiredKeySourceOf,
  schemeFlag,
  schemeOf,
  timeOf,
  urlOf,
} from "./partner-flags.ts";
import { readInput, readSigningKeys } from "./read-keys.ts";

const signFlags = [
  keyFileFlag,
  keyFlag,
  {
    name: "key-id",
    value: "ID",
    help: "Key id in an HttpMessageSignatures signature; defaults to the thumbprint of the key.",
  },
  schemeFlag,
  {
    name: "path",
    value: "PATH",
    help: "Path of the endpoint, or its URL for HttpMessageSignatures, which also signs the host.",
    required: true,
    variable: "HELIOGRAPH_ENDPOINT_PATH",
  },
  { name: "method", value: "METHOD", help: "HTTP method of the request.", standard: "POST" },
  { name: "timestamp", value: "TIME", help: "Time of the attempt in UTC; defaults to now." },
] as const satisfies readonly Flag[];

/** `heliograph sign` */
export const signCommand: Command<SignArguments> = {
  summary: "Prints the headers of a signed delivery whose body is a file or standard input.",
  operands: [{ name: "FILE", isOptional: true }],
  flags: signFlags,
  read: signArguments,
  run: async (args) => printSignature(args),
};

interface SignArguments {
  /** File of the body; `-` is the standard input. */
  readonly file: string;
  readonly scheme: SigningScheme;
  readonly keys: KeySource;
  readonly keyId: string | undefined;
  readonly url: URL;
  /** In capitals. */
  readonly method: string;
  /** Unix milliseconds. @default now */
  readonly sentAtMs: number | undefined;
}

function signArguments(given: Given, [file = "-"]: readonly string[]): SignArguments {
  const path = given.text("path");
  const scheme = schemeOf(given);
  if (path.startsWith("/") && scheme === "HttpMessageSignatures")
    throw new UsageError("--path must be the full URL for HttpMessageSignatures, which also signs the host.");
  return {
    file,
    scheme,
    keys: requiredKeySourceOf(given),
    url: urlOf("path", path.startsWith("/") ? `http://localhost${path}` : path),
    method: given.text("method").toUpperCase(),
    keyId: given.optional("key-id"),
    sentAtMs: timeOf(given, "timestamp"),
  };
}

/** `heliograph sign`: prints headers, one per line, as `curl --header @FILE` reads them. @throws CommandError */
async function printSignature(args: SignArguments): Promise<ExitName> {
  const keys = await readSigningKeys(args.keys, args.scheme);
  const body = await readInput(args.file);
  const headers = signedHeaders({ ...args, body, keys: keys.map((key) => named(key, args.keyId)) });
  for (const [name, value] of Object.entries(headers)) process.stdout.write(`${name}: ${value}\n`);
  return "done";
}

interface ToSign {
  readonly scheme: SigningScheme;
  readonly keys: readonly SigningKey[];
  readonly url: URL;
  readonly method: string;
  readonly body: Buffer;
  readonly sentAtMs?: number | undefined;
}

/** Headers of a delivery of this body. @throws CommandError when it is not an event, or the key cannot sign */
export function signedHeaders({ scheme, keys, url, method, body, sentAtMs }: ToSign): Readonly<Record<string, string>> {
  const { event_id: eventId, attempt = 1, producer = "heliograph" } = eventOf(body);
  const options = { keys, url, method, body, eventId, attempt, producer, version, endpointHeaders: {} };
  try {
    return deliveryHeaders(scheme, { ...options, sentAtMs: sentAtMs ?? Date.now() });
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new CommandError("usage", `the key cannot sign with ${scheme}: ${reason}`, cause);
  }
}

interface SignedFields {
  readonly event_id: string;
  readonly attempt?: number;
  readonly producer?: string;
}

function eventOf(body: Buffer): SignedFields {
  try {
    const event = JSON.parse(body.toString()) as SignedFields | null;
    if (typeof event?.event_id === "string" && event.event_id !== "") return event;
  } catch {
    // Without JSON there is no event_id either.
  }
  throw new CommandError("usage", "the body is not an event; it must be JSON with an event_id");
}

function named(key: SigningKey, keyId: string | undefined): SigningKey {
  if (keyId === undefined) return key;
  if ("secret" in key)
    throw new CommandError("usage", "--key-id applies to private keys only; remove it for a shared key");
  return { ...key, keyId };
}
