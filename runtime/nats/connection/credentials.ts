// What proves this process to NATS, read from files so that it can change while the process runs.

import { readdir, readFile, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import {
  type Authenticator,
  jwtAuthenticator,
  nkeyAuthenticator,
  nkeys,
  tokenAuthenticator,
  usernamePasswordAuthenticator,
} from "@nats-io/transport-node";

/** Credentials of one user of NATS. */
export type Credentials =
  | { readonly kind: "none" }
  | { readonly kind: "password"; readonly user: string; readonly password: string }
  | { readonly kind: "token"; readonly token: string }
  /** The seed of a user's key, such as `SUAM…`. */
  | { readonly kind: "nkey"; readonly seed: string }
  | { readonly kind: "jwt"; readonly jwt: string; readonly seed: string };

/**
 * The credentials of a connection during a rotation: those that work, and newer ones that the server may not accept
 * yet. Each rejection changes to the other ones, so that the order in which both sides learn of them does not matter.
 */
export type CredentialChoice = ReturnType<typeof createCredentialChoice>;

/** The files hold no usable credentials. The message is one sentence without a secret. */
class InvalidCredentials extends Error {
  override readonly name = "InvalidCredentials";
}

/** Names of the files in a folder of credentials. A file of nsc ends with `.creds`. */
type FileName = "username" | "password" | "token" | "nkey" | "jwt" | "creds";
type Texts = Readonly<Partial<Record<FileName, string>>>;

const fileNames: readonly FileName[] = ["username", "password", "token", "nkey", "jwt", "creds"];
/** The user of a folder without `username`: that of the chart's own NATS. */
const userDefault = "runtime";
const fileBytesMax = 64 * 1024;
const choices = "username and password, token, nkey, jwt and nkey, or one file that ends in .creds";
const bcryptHash = /^\$2[abxy]\$\d\d\$[./A-Za-z\d]{53}$/u;
/** Two blocks between lines of dashes: the JWT and the seed. Source: NATS documentation, "Creds files". */
const credsBlock = /-{3,}[^\n]*-{3,}\s*\n\s*(?<text>[\w.=-]+)\s*\n\s*-{3,}[^\n]*-{3,}/gu;

/**
 * Reads the credentials of a path: a file of nsc (`.creds`), or a folder such as a mounted Secret.
 * @throws InvalidCredentials, and errors of the file system
 */
export async function readCredentials(path: string): Promise<Credentials> {
  if (!(await stat(path)).isDirectory()) return credentialsOf(path, { creds: await textOf(path) });
  const names = await readdir(path);
  const found = names.flatMap((name) => {
    const kind = name.endsWith(".creds") ? "creds" : fileNames.find((one) => one === name);
    return kind === undefined ? [] : [[kind, name] as const];
  });
  if (found.filter(([kind]) => kind === "creds").length > 1) {
    throw unclear(
      path,
      found.map(([, name]) => name),
    );
  }
  const texts = await Promise.all(found.map(async ([kind, name]) => [kind, await textOf(join(path, name))] as const));
  return credentialsOf(path, Object.fromEntries(texts));
}

/** Reads the files of one kind of credentials. A missing one is empty. */
type Reader = (file: (name: FileName) => string, path: string) => Credentials;

/** By the names of the files in the order of the alphabet. */
const readers: Readonly<Record<string, Reader>> = {
  password: (file) => passwordOf(userDefault, file("password")),
  "password username": (file) => passwordOf(oneLine(file("username"), "username"), file("password")),
  token: (file) => ({ kind: "token", token: oneLine(file("token"), "token") }),
  nkey: (file) => ({ kind: "nkey", seed: seedOf(file("nkey")) }),
  "jwt nkey": (file) => ({ kind: "jwt", jwt: jwtOf(file("jwt")), seed: seedOf(file("nkey")) }),
  creds: (file, path) => parseCreds(file("creds"), path),
};

function credentialsOf(path: string, texts: Texts): Credentials {
  const names = Object.keys(texts).toSorted();
  const reader = readers[names.join(" ")];
  if (reader === undefined) throw unclear(path, names);
  return reader((name) => texts[name] ?? "", path);
}

function unclear(path: string, names: readonly string[]): InvalidCredentials {
  const found = names.length === 0 ? "none of them" : names.join(", ");
  return new InvalidCredentials(`the folder ${path} has the files ${choices}, and not ${found}`);
}

/** Text of a file without the line break that editors add at the end. */
async function textOf(path: string): Promise<string> {
  const bytes = await readFile(path);
  if (bytes.length > fileBytesMax) throw new InvalidCredentials(`${path} has more than ${fileBytesMax} bytes`);
  const text = bytes.toString().replace(/\r?\n$/u, "");
  if (text === "") throw new InvalidCredentials(`${path} is empty`);
  return text;
}

function oneLine(text: string, name: FileName): string {
  if (/[\r\n\0]/u.test(text)) throw new InvalidCredentials(`the file ${name} has more than one line`);
  return text;
}

function passwordOf(user: string, password: string): Credentials {
  if (!bcryptHash.test(password)) return { kind: "password", user, password: oneLine(password, "password") };
  throw new InvalidCredentials(
    "the file password has a bcrypt hash, which only the server can use: give the client the password itself",
  );
}

function seedOf(text: string): string {
  const seed = text.trim();
  try {
    if (nkeys.fromSeed(Buffer.from(seed)).getPublicKey().startsWith("U")) return seed;
  } catch {
    // The error of the library is a code.
  }
  throw new InvalidCredentials("the seed of the key is not that of a user, which begins with SU");
}

function jwtOf(text: string): string {
  const jwt = text.trim();
  if (/^[\w-]+\.[\w-]+\.[\w-]+$/u.test(jwt)) return jwt;
  throw new InvalidCredentials("the JWT of the user has not the three parts of a JWT");
}

function parseCreds(text: string, path: string): Credentials {
  const [jwt, seed, ...more] = [...text.matchAll(credsBlock)].map(({ groups }) => groups?.["text"] ?? "");
  if (jwt === undefined || seed === undefined || more.length > 0)
    throw new InvalidCredentials(`${basename(path)} has not the JWT and the seed of a .creds file`);
  return { kind: "jwt", jwt: jwtOf(jwt), seed: seedOf(seed) };
}

/** How the client proves itself with these credentials. It never throws, because the client would close for ever. */
export function authenticatorOf(credentials: Credentials): Authenticator {
  switch (credentials.kind) {
    case "none":
      return () => undefined;
    case "password":
      return usernamePasswordAuthenticator(credentials.user, credentials.password);
    case "token":
      return tokenAuthenticator(credentials.token);
    case "nkey":
      return nkeyAuthenticator(Buffer.from(credentials.seed));
    case "jwt":
      return jwtAuthenticator(credentials.jwt, Buffer.from(credentials.seed));
  }
}

/** The public name of the user, for log lines: a name or a public key. */
export function userOf(credentials: Credentials): string | undefined {
  switch (credentials.kind) {
    case "none":
    case "token":
      return undefined;
    case "password":
      return credentials.user;
    case "nkey":
    case "jwt":
      return nkeys.fromSeed(Buffer.from(credentials.seed)).getPublicKey();
  }
}

/** True for equal credentials. */
function isSame(one: Credentials, other: Credentials): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** @param first those of the first attempt */
export function createCredentialChoice(first: Credentials) {
  let working = first;
  let newest = first;
  let current = first;
  let authenticator = authenticatorOf(first);
  const use = (next: Credentials): void => {
    current = next;
    authenticator = authenticatorOf(next);
  };
  return {
    /** For the client, which calls it at each connection attempt. */
    authenticator: (nonce?: string) => authenticator(nonce),
    /** Those of the next attempt; those of the connection while it lasts. */
    current: () => current,
    newest: () => newest,
    /** Newer ones, which replace earlier newer ones. */
    offer: (next: Credentials) => {
      if (isSame(next, newest)) return;
      newest = next;
      // Those that were offered before and never worked are void.
      if (!isSame(current, working)) use(newest);
    },
    /** True while newer ones are not in use. */
    isPending: () => !isSame(newest, working),
    /** The next attempt uses the newer ones. */
    preferNewest: () => use(newest),
    /** The server rejected the current ones. */
    rejected: () => use(isSame(current, newest) ? working : newest),
    /** The server accepted the current ones. */
    accepted: () => {
      working = current;
    },
  };
}
