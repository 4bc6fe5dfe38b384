import type { SigningScheme } from "../../crds/signing-key.ts";
import { deliveryHeaders } from "../../runtime/webhooks/signing/signed-request.ts";
import type { SigningKey } from "../../runtime/webhooks/signing/keys.ts";
import { version } from "../../runtime/version.ts";
import { CommandError } from "../command-line/command-error.ts";
import type { ExitName } from "../command-line/exit-codes.ts";
import type { KeySource } from "./partner-flags.ts";
import { readInput, readSigningKeys } from "./read-keys.ts";

export interface SignArguments {
  /** File of the body; `-` is the standard input. */
  readonly file: string;
  readonly scheme: SigningScheme;
  readonly keys: KeySource;
  readonly keyId?: string;
  readonly url: URL;
  /** In capitals. */
  readonly method: string;
  /** Unix milliseconds. @default now */
  readonly sentAtMs?: number;
}

/** `heliograph sign`: prints headers, one per line, as `curl --header @FILE` reads them. @throws CommandError */
export async function printSignature(args: SignArguments): Promise<ExitName> {
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
  readonly sentAtMs?: number;
}

/** Headers of a delivery of this body. @throws CommandError when it is not an event, or the key cannot sign */
export function signedHeaders({ scheme, keys, url, method, body, sentAtMs }: ToSign): Readonly<Record<string, string>> {
  const { event_id: eventId, attempt = 1, producer = "heliograph" } = eventOf(body);
  const options = { keys, url, method, body, eventId, attempt, producer, version, endpointHeaders: {} };
  try {
    return deliveryHeaders(scheme, { ...options, sentAtMs: sentAtMs ?? Date.now() });
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new CommandError("usage", `the key cannot sign by ${scheme}: ${reason}`, cause);
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
  throw new CommandError("usage", "the body is not an event; give JSON with an event_id");
}

function named(key: SigningKey, keyId: string | undefined): SigningKey {
  if (keyId === undefined) return key;
  if ("secret" in key) throw new CommandError("usage", "--key-id names private keys; leave it out for a shared key");
  return { ...key, keyId };
}
