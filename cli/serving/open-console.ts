import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { accessSync, constants, existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { delimiter, join, resolve } from "node:path";
import { devKeyPath, openDevIssuer } from "../../runtime/http/authentication/dev-issuer.ts";
import { startStep } from "../../runtime/program/start-error.ts";
import { HttpError } from "../api/http-error.ts";
import { type ApiConnection, urlDefault } from "../api/connection.ts";
import { readLogin } from "../api/login-file.ts";
import { send, sendForJson } from "../api/request.ts";
import { say } from "../command-line/terminal.ts";
import { CommandError, type ExitName } from "../command-line/command.ts";
import type { Environment } from "../command-line/flags.ts";

export interface OpenArguments {
  /** Base URL without a slash at its end. @default that of the login, else of `run` on this machine */
  readonly url: string | undefined;
  readonly dataFolder: string;
  readonly roles: readonly string[];
  readonly ttlSeconds: number;
  /** True when no browser shall start. */
  readonly isPrinted: boolean;
}

/** Everything that the API lets a person do. */
const administratorScopes = [
  "console:admin",
  "events:write",
  "webhooks:read",
  "webhooks:replay",
  "webhooks:ack",
  "webhooks:ping",
  "metrics:read",
  "metrics:explain",
  "metrics:usage",
  "admin:debug",
  "admin:preview",
];

const responseMsMax = 10_000;
const loopbackHosts: readonly string[] = ["localhost", "127.0.0.1", "[::1]"];
const pageName = "open-console.html";
const notFound = 404;
const nonceBytes = 32;

/** `GET /console/config.json`, as far as it is read. */
interface ConsoleConfig {
  readonly is_local: boolean;
  /** Absent from versions that prove nothing. */
  readonly proof?: string;
}

/**
 * `heliograph open`: prints the address of the console, and opens it where a person can see it.
 * @throws CommandError `usage`, `refused`, `unreachable`; StartError `data`
 */
export async function openConsole(
  args: OpenArguments,
  environment: Environment,
  output: Pick<NodeJS.WriteStream, "isTTY" | "write"> = process.stdout,
): Promise<ExitName> {
  const url = args.url ?? (await loginUrl(environment)) ?? urlDefault;
  const { server, token } = await signIn(url, args);
  await requirePage(server);
  const address = `${server}/console/${token === undefined ? "" : `#token=${token}`}`;
  output.write(`${address}\n`);
  if (args.isPrinted || !output.isTTY) return "done";
  const starter = findBrowserStarter(environment, process.platform);
  if (starter === undefined) say("No browser was found: open this address in a browser.");
  else startBrowser(starter, token === undefined ? address : await writePage(args.dataFolder, address));
  return "done";
}

interface SignIn {
  /** Base URL of the one server that accepts the token. */
  readonly server: string;
  /** Undefined if people sign in. */
  readonly token: string | undefined;
}

/**
 * A token for a server of this machine, which trusts the issuer of its data folder. None for any other server,
 * where people sign in. @throws CommandError, StartError
 */
async function signIn(url: string, args: OpenArguments): Promise<SignIn> {
  const nonce = randomBytes(nonceBytes).toString("base64url");
  const config = await readConfig(url, nonce);
  // Only this machine can trust a folder of this machine.
  return config.is_local && loopbackHosts.includes(new URL(url).hostname)
    ? localToken(url, args, { nonce, proof: requireProof(url, config) })
    : { server: url, token: undefined };
}

/** @throws CommandError `refused` for a server of an earlier version */
function requireProof(url: string, { proof }: ConsoleConfig): string {
  if (proof !== undefined) return proof;
  throw new CommandError(
    "refused",
    `${url} runs an earlier version, which cannot prove that it has the key of its data folder; ` +
      "restart it with this version, or use `heliograph open` from its version",
  );
}

/** The server of the login; undefined without one. @throws CommandError `usage` */
async function loginUrl(environment: Environment): Promise<string | undefined> {
  const login = await readLogin(environment);
  if (login === undefined || !("kubernetes" in login)) return login?.url;
  throw new CommandError(
    "usage",
    "the login refers to a cluster that a browser cannot reach: forward a port with kubectl and pass it as --url",
  );
}

/** @throws CommandError `refused`, `unreachable` */
async function readConfig(url: string, nonce: string): Promise<ConsoleConfig> {
  const request = { path: "/console/config.json", query: { nonce }, timeoutMs: responseMsMax };
  return sendForJson<ConsoleConfig>(connectionTo(url, undefined), request).catch((error: unknown) => {
    if (!(error instanceof HttpError) || error.status !== notFound) throw error;
    throw new CommandError(
      "refused",
      `${url} serves no console: it is disabled in the settings, or the version is too old`,
    );
  });
}

/** @throws CommandError `refused` if the server has no built console, `unreachable` */
async function requirePage(url: string): Promise<void> {
  const request = { path: "/console/", headers: { accept: "text/html" }, timeoutMs: responseMsMax };
  await send(connectionTo(url, undefined), request).catch((error: unknown) => {
    if (!(error instanceof HttpError) || error.status !== notFound) throw error;
    throw new CommandError(
      "refused",
      `${url} serves no console, because the console is not built; run \`npm run console\` and restart the server`,
    );
  });
}

/**
 * A token for the server that holds the key of the data folder, and for no other: it is made after that server has
 * signed a nonce, and names its origin. @throws CommandError `usage`, `refused`; StartError `data`
 */
async function localToken(
  url: string,
  { dataFolder, roles, ttlSeconds }: OpenArguments,
  { nonce, proof }: { readonly nonce: string; readonly proof: string },
): Promise<SignIn> {
  if (!existsSync(devKeyPath(dataFolder))) {
    throw new CommandError(
      "usage",
      `nothing has run on the data folder ${dataFolder}; set --data to the folder of the server`,
    );
  }
  const open = () => openDevIssuer(dataFolder);
  const issuer = await startStep("data", `the data folder ${dataFolder} cannot be used`, open);
  const origin = await issuer.provenOrigin(proof, nonce);
  if (origin === undefined) {
    throw new CommandError(
      "refused",
      `${url} does not have the key of the data folder ${dataFolder}, so no token is sent; ` +
        "set --data to its folder",
    );
  }
  if (!isSameListener(origin, url)) {
    throw new CommandError(
      "refused",
      `${url} forwards requests to ${origin}, so no token is sent; use --url ${origin}`,
    );
  }
  const token = await issuer.sign(
    {
      sub: "console",
      client_id: "console",
      scope: administratorScopes.join(" "),
      tenants: ["*", "-"],
      partners: ["*"],
      ...(roles.length === 0 ? {} : { roles }),
    },
    Date.now(),
    ttlSeconds,
    origin,
  );
  // By plain HTTP a name such as localhost may lead to another listener; a certificate says which one answers.
  const server = new URL(url).protocol === "https:" ? url : origin;
  await sendForJson(connectionTo(server, token), { path: "/v1/me", timeoutMs: responseMsMax });
  return { server, token };
}

/** True when both are the same port of this machine. The name `localhost` is one of several addresses. */
function isSameListener(origin: string, url: string): boolean {
  const [own, requested] = [new URL(origin), new URL(url)];
  return own.protocol === requested.protocol && own.port === requested.port && loopbackHosts.includes(own.hostname);
}

function connectionTo(url: string, token: string | undefined): ApiConnection {
  return { url, token: async () => token, close: async () => undefined };
}

/**
 * A page that leads to the address. Other users of the machine see the command line of a browser, so that the token
 * is in a file, which only its owner reads.
 */
async function writePage(dataFolder: string, address: string): Promise<string> {
  const path = resolve(dataFolder, pageName);
  const text = `<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0;url=${address}">\n`;
  await writeFile(path, text, { mode: 0o600 });
  return path;
}

/** The program that opens a file or an address in the user's browser; undefined without a display. */
export function findBrowserStarter(environment: Environment, platform: NodeJS.Platform): string | undefined {
  const hasScreen = [environment["DISPLAY"], environment["WAYLAND_DISPLAY"]].some((name) => (name ?? "") !== "");
  if (platform !== "darwin" && !hasScreen) return undefined;
  const name = platform === "darwin" ? "open" : "xdg-open";
  const folders = (environment["PATH"] ?? "").split(delimiter).filter((folder) => folder !== "");
  return folders.map((folder) => join(folder, name)).find(isProgram);
}

/** Starts the browser and does not wait for it. A browser that does not start leaves the printed address. */
function startBrowser(starter: string, target: string): void {
  const child = spawn(starter, [target], { detached: true, stdio: "ignore" });
  child.on("error", () => undefined);
  child.unref();
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
