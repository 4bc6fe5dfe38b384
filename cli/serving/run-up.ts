import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { Environment } from "../command-line/given.ts";
import { startChild, type Child } from "../../demo/child-process.ts";
import { partnerRoles, startPartner } from "../../demo/partners.ts";
import { findStorePrograms, startStore, storePorts } from "../../demo/stores.ts";
import type { DemoStoreName } from "../../demo/series-catalog.ts";
import { openDevIssuer } from "../../runtime/http/authentication/dev-issuer.ts";
import { say } from "../api/terminal.ts";
import { CommandError } from "../command-line/command-error.ts";
import { exitCodes, type ExitName } from "../command-line/exit-codes.ts";
import { buildConsole } from "./build-console.ts";
import { whatToTry } from "./what-to-try.ts";

export interface UpArguments {
  readonly port: number;
  readonly adminPort: number;
  readonly dataFolder: string;
  readonly natsServer: string | undefined;
  readonly prometheus: string | undefined;
}

/** In a checkout, and in the npm package. */
const examples = fileURLToPath(new URL("../../docs/examples", import.meta.url));
const tokenSeconds = 12 * 3_600;
const readyMsMax = 120_000;
const pollMs = 100;

/** What must be stopped in the end, last started first. */
type Stops = (() => Promise<unknown>)[];

/** Starts everything, prints what to try, and stops everything after a signal. @throws CommandError */
export async function runUp(args: UpArguments, environment: Environment): Promise<ExitName> {
  const stopping = new AbortController();
  // What this process started ends with it, also after a second signal.
  const onSignal = (): void => (stopping.signal.aborted ? process.exit(exitCodes.interrupted.code) : stopping.abort());
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, onSignal);
  const stops: Stops = [];
  try {
    const server = await start(args, environment, stops, stopping.signal);
    if (server === undefined) return "done";
    await Promise.race([server.ended, aborted(stopping.signal)]);
    if (stopping.signal.aborted) return "done";
    throw new CommandError("failed", `the product ended; ${logOf(args)} says why`);
  } catch (error) {
    // Ctrl-C also reaches the program that fills a store.
    if (stopping.signal.aborted) return "done";
    throw error;
  } finally {
    say("stopping");
    for (const stop of stops.toReversed()) await stop();
  }
}

/** Undefined when a signal came before. */
async function start(
  args: UpArguments,
  environment: Environment,
  stops: Stops,
  signal: AbortSignal,
): Promise<Child | undefined> {
  if (!existsSync(examples)) throw new CommandError("folder", "the examples are missing: run it in a checkout");
  await mkdir(args.dataFolder, { recursive: true, mode: 0o700 });
  await buildConsole(signal);
  await startSurroundings(args, environment, stops, signal);
  if (signal.aborted) return undefined;
  const server = startServer(args);
  stops.push(() => server.stop());
  if (!(await untilReady(server, args, signal))) return undefined;
  const url = `http://127.0.0.1:${args.port}`;
  const tokenFile = await writeToken(args.dataFolder);
  process.stdout.write(
    whatToTry({ url, adminUrl: `http://127.0.0.1:${args.adminPort}`, dataFolder: resolve(args.dataFolder), tokenFile }),
  );
  return server;
}

async function startSurroundings(
  { dataFolder, prometheus }: UpArguments,
  environment: Environment,
  stops: Stops,
  signal: AbortSignal,
): Promise<void> {
  try {
    const programs = await findStorePrograms(prometheus, environment);
    for (const role of partnerRoles) {
      const partner = await startPartner(role);
      stops.push(() => partner.stop());
    }
    for (const store of Object.keys(storePorts) as DemoStoreName[]) {
      if (signal.aborted) return;
      say(`filling the store ${store} with a day of series`);
      const child = await startStore(programs, store, join(dataFolder, "stores", store), signal);
      stops.push(() => child.stop());
    }
  } catch (error) {
    throw new CommandError("failed", error instanceof Error ? error.message : String(error), error);
  }
}

function startServer(args: UpArguments): Child {
  const { port, adminPort, dataFolder, natsServer } = args;
  const flags = ["--port", String(port), "--admin-port", String(adminPort), "--data", dataFolder, "--processes", "1"];
  const nats = natsServer === undefined ? [] : ["--nats-server", natsServer];
  const [, program = ""] = process.argv;
  return startChild(process.execPath, [...process.execArgv, program, "run", examples, ...flags, ...nats], logOf(args));
}

function logOf({ dataFolder }: UpArguments): string {
  return join(dataFolder, "heliograph.log");
}

/** @returns false after a signal */
async function untilReady(server: Child, args: UpArguments, signal: AbortSignal): Promise<boolean> {
  const deadlineMs = performance.now() + readyMsMax;
  while (!server.output().includes("\n")) {
    if (signal.aborted) return false;
    if (server.hasEnded() || performance.now() > deadlineMs)
      throw new CommandError("failed", `the product did not start; ${logOf(args)} says why`);
    await sleep(pollMs);
  }
  return true;
}

/** A file, so that no command line and no history of a shell holds the token. */
async function writeToken(folder: string): Promise<string> {
  const issuer = await openDevIssuer(folder);
  const scope = "events:write webhooks:read webhooks:replay webhooks:ack webhooks:ping metrics:read admin:preview";
  const claims = { sub: "up", client_id: "up", scope, tenants: ["lumen"], roles: ["metrics-finance"] };
  const file = resolve(folder, "token");
  await writeFile(file, await issuer.sign(claims, Date.now(), tokenSeconds), { mode: 0o600 });
  return file;
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((done) => {
    if (signal.aborted) done();
    signal.addEventListener("abort", () => done(), { once: true });
  });
}
