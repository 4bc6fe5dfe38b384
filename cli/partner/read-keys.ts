import { createPublicKey, type JsonWebKey } from "node:crypto";
import { readFile } from "node:fs/promises";
import { basename } from "node:path";
import { buffer } from "node:stream/consumers";
import { readSigningKey, type SigningScheme } from "../../crds/signing-key.ts";
import { thumbprintOf } from "../../runtime/webhooks/signing/keys.ts";
import { signingKeyOf, type SigningKey, type VerificationKey } from "../../runtime/webhooks/signing/keys.ts";
import { CommandError } from "../command-line/command.ts";
import type { KeySource } from "./partner-flags.ts";

/** Bytes of a key and the name by which messages call it. */
interface WrittenKey {
  readonly name: string;
  readonly bytes: Buffer;
}

const publicPem = /^-----BEGIN PUBLIC KEY-----/u;

/** The keys that sign, in the order in which they are given. @throws CommandError */
export async function readSigningKeys(source: KeySource, scheme: SigningScheme): Promise<readonly SigningKey[]> {
  return (await writtenKeys(source)).map((key) => signingKeyOf(parsed(key, scheme)));
}

/** The keys that verify; a private key stands for its public half. @throws CommandError */
export async function readVerificationKeys(
  source: KeySource,
  scheme: SigningScheme,
): Promise<readonly VerificationKey[]> {
  return (await writtenKeys(source)).flatMap((key) => verificationKeys(key, scheme));
}

/** @throws CommandError when a file cannot be read */
async function writtenKeys({ files, text }: KeySource): Promise<readonly WrittenKey[]> {
  if (text !== undefined) return [{ name: "HELIOGRAPH_KEY", bytes: Buffer.from(text) }];
  return Promise.all(files.map(async (file) => ({ name: basename(file), bytes: await readInput(file) })));
}

/** Bytes of a file; `-` is the standard input. @throws CommandError */
export async function readInput(file: string): Promise<Buffer> {
  try {
    // A program gives its child a socket as standard input, which cannot be opened by its path.
    return file === "-" ? await buffer(process.stdin) : await readFile(file);
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code ?? String(cause);
    throw new CommandError("folder", `the file ${file} cannot be read: ${code}; check its name and permissions`, cause);
  }
}

function parsed({ name, bytes }: WrittenKey, scheme: SigningScheme): Parameters<typeof signingKeyOf>[0] {
  const key = readSigningKey(scheme, bytes);
  if ("fault" in key)
    throw new CommandError("usage", `the key ${name} ${key.fault.message}; ${scheme} needs a different key`);
  return key;
}

function verificationKeys(key: WrittenKey, scheme: SigningScheme): readonly VerificationKey[] {
  const text = key.bytes.toString("latin1").trim();
  if (text.startsWith("{")) return keySet(key);
  if (publicPem.test(text)) return [publicKeyOf(key, () => createPublicKey(text))];
  const read = parsed(key, scheme);
  if ("secret" in read) return [{ id: key.name, secret: read.secret }];
  return [publicKeyOf(key, () => createPublicKey(read.privateKey))];
}

/** A JWK set as a partner's `jwks.json` has it. */
function keySet(key: WrittenKey): readonly VerificationKey[] {
  return unlessInvalid(key, () => {
    const { keys } = JSON.parse(key.bytes.toString()) as { readonly keys: readonly (JsonWebKey & { kid: string })[] };
    return keys.map((jwk) => ({ id: jwk.kid, publicKey: createPublicKey({ key: jwk, format: "jwk" }) }));
  });
}

function publicKeyOf(key: WrittenKey, read: () => ReturnType<typeof createPublicKey>): VerificationKey {
  const publicKey = unlessInvalid(key, read);
  return { id: thumbprintOf(publicKey), publicKey };
}

function unlessInvalid<T>({ name }: WrittenKey, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    throw new CommandError("usage", `the key ${name} is neither a public key in PEM nor a JWK set`, cause);
  }
}
