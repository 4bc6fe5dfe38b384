// The API of a server as commands use it: login, connection, requests, errors and output. It knows no other command.
import { readFile } from "node:fs/promises";
import { type Flag, type Given, UsageError } from "../command-line/flags.ts";
import { CommandError } from "../command-line/command.ts";
import type { ClusterTarget } from "./cluster-connection.ts";
import { clusterFlags, clusterTargetOf } from "./cluster-flags.ts";
import { readLogin } from "./login-file.ts";

/** Where requests go, and as whom. */
export interface ApiConnection {
  /** Base URL without a slash at its end. */
  readonly url: string;
  /** Name that the server's certificate has, when it differs from the host of the URL. */
  readonly serverName?: string;
  /** The token of the next request; undefined for none. @throws CommandError `usage` */
  token(): Promise<string | undefined>;
  /** Why the last request reached no server, better than its error. @default the error states it */
  failure?(): string | undefined;
  close(): Promise<void>;
}

/** Opens a connection. The command closes it. */
export type Connect = () => Promise<ApiConnection>;

/** That of `heliograph run`. */
export const urlDefault = "http://127.0.0.1:8080";

/** Flags of every command that queries a server. */
export const connectionFlags = [
  {
    name: "url",
    value: "URL",
    help: `Base URL of the server; defaults to the URL of the login, then ${urlDefault}.`,
  },
  {
    name: "token-file",
    value: "FILE",
    help: "File that contains the token; it is read for each request, so another program can rotate it.",
  },
  { name: "token", value: "TOKEN", help: "The token, if no file is given.", isSecret: true },
  ...clusterFlags,
] as const satisfies readonly Flag[];

const tokenCharactersMax = 64 * 1024;
/** A header cannot hold other characters. Source: RFC 6750 §2.1. */
const tokenForm = /^[A-Za-z0-9._~+/-]+=*$/u;

/** The one place where URL and token of a command come from: flags, else the login. @throws UsageError */
export function connectionOf(given: Given): Connect {
  const url = given.optional("url");
  const isCluster = given.isSet("kubernetes");
  if (url !== undefined && isCluster) throw new UsageError("--url and --kubernetes are mutually exclusive.");
  const tokens = tokensOf(given);
  const target = clusterTargetOf(given);
  if (isCluster) return () => openCluster(target, tokens);
  if (url !== undefined) return direct(baseUrlOf(url), tokens);
  return async () => {
    const login = await readLogin();
    if (login === undefined) return direct(urlDefault, tokens)();
    if ("kubernetes" in login) return openCluster(login.kubernetes, tokens);
    const { tokenFile } = login;
    const own = tokenFile === undefined ? undefined : (): Promise<string> => readToken(tokenFile);
    return direct(login.url, tokens ?? own)();
  };
}

type Tokens = (() => Promise<string>) | undefined;

/** The token that flags name; undefined without one. */
function tokensOf(given: Given): Tokens {
  const file = given.optional("token-file");
  if (file !== undefined) return () => readToken(file);
  const token = given.optional("token");
  return token === undefined ? undefined : () => Promise.resolve(token);
}

function direct(url: string, tokens: Tokens): Connect {
  return async () => ({ url, token: async () => checkedToken(await tokens?.()), close: async () => undefined });
}

/** A token that flags name replaces that of the service account. */
async function openCluster(target: ClusterTarget, tokens: Tokens): Promise<ApiConnection> {
  const { connectCluster } = await import("./cluster-connection.ts");
  const connection = await connectCluster(target, tokens);
  return { ...connection, token: async () => checkedToken(await connection.token()) };
}

/** @throws UsageError */
export function baseUrlOf(text: string): string {
  const url = URL.parse(text);
  if (url === null || !["http:", "https:"].includes(url.protocol) || url.search !== "" || url.hash !== "")
    throw new UsageError("--url must be a base URL such as http://127.0.0.1:8080.");
  if (url.username !== "" || url.password !== "")
    throw new UsageError("--url must not contain a user or password; pass a token with --token-file.");
  return url.href.replace(/\/+$/u, "");
}

async function readToken(file: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new CommandError("usage", `the token file ${file} cannot be read: ${reason}`, error);
  }
}

function checkedToken(text: string | undefined): string | undefined {
  const token = text?.trim();
  if (token === undefined || (token.length <= tokenCharactersMax && tokenForm.test(token))) return token;
  throw new CommandError("usage", "the token is not a valid bearer token; the file must contain only the token");
}
