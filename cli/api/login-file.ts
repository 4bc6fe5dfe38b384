import { chmod, mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import type { Environment } from "../command-line/flags.ts";
import { CommandError } from "../command-line/command.ts";
import type { ClusterTarget } from "./cluster-connection.ts";

/** A server with a file of its token, or a release in a cluster. */
export type Login =
  | { readonly url: string; readonly tokenFile?: string | undefined }
  | { readonly kubernetes: ClusterTarget };

const [fileMode, folderMode] = [0o600, 0o700];
const bytesMax = 16 * 1024;

/** Source: XDG Base Directory Specification. */
export function loginPath(environment: Environment): string {
  const configured = environment["XDG_CONFIG_HOME"] ?? "";
  const folder = configured === "" ? join(environment["HOME"] ?? homedir(), ".config") : configured;
  return join(folder, "heliograph", "login.json");
}

/** @returns undefined without a login. @throws CommandError `usage` */
export async function readLogin(environment: Environment = process.env): Promise<Login | undefined> {
  const path = loginPath(environment);
  const text = await readFile(path, "utf8").catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw unusable(path, error);
  });
  if (text === undefined) return undefined;
  const login = parsed(text);
  if (login === undefined) throw unusable(path, undefined);
  return login;
}

/** Replaces the login. Only its user may read it. */
export async function writeLogin(login: Login, environment: Environment = process.env): Promise<string> {
  const path = loginPath(environment);
  await mkdir(dirname(path), { recursive: true, mode: folderMode });
  const draft = `${path}.${process.pid}`;
  await writeFile(draft, `${JSON.stringify(login, null, 2)}\n`, { mode: fileMode });
  // A file of that name that was there keeps its mode.
  await chmod(draft, fileMode);
  await rename(draft, path);
  return path;
}

/** Removes the login. Does nothing without one. */
export async function removeLogin(environment: Environment = process.env): Promise<void> {
  await rm(loginPath(environment), { force: true });
}

function parsed(text: string): Login | undefined {
  if (text.length > bytesMax) return undefined;
  try {
    const value = JSON.parse(text) as Partial<Record<string, unknown>> | null;
    const isDirect = typeof value?.["url"] === "string";
    const { serviceAccount } = (value?.["kubernetes"] ?? {}) as { readonly serviceAccount?: unknown };
    return isDirect || typeof serviceAccount === "string" ? (value as Login) : undefined;
  } catch {
    return undefined;
  }
}

function unusable(path: string, cause: unknown): CommandError {
  const reason = cause instanceof Error ? cause.message : "it is not a login file";
  return new CommandError("usage", `${path} cannot be used: ${reason}; run heliograph login again`, cause);
}
