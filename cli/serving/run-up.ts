import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { type Child, startChild } from "../../demo/child-process.ts";
import { startSurroundings, type Stops } from "../../demo/surroundings.ts";
import { onAbort } from "../../limits/clock.ts";
import { openDevIssuer } from "../../runtime/http/authentication/dev-issuer.ts";
import { inShell, say } from "../command-line/terminal.ts";
import { CommandError, exitCodes, type ExitName } from "../command-line/command.ts";
import type { Environment } from "../command-line/flags.ts";

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

/** Where a demonstration serves. */
interface Place {
  readonly url: string;
  readonly adminUrl: string;
  readonly dataFolder: string;
  readonly tokenFile: string;
}

const inRoot = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const buildMsMax = 60_000;

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
    await Promise.race([server.ended, new Promise<void>((done) => onAbort(stopping.signal, done))]);
    if (stopping.signal.aborted) return "done";
    throw new CommandError("failed", `Heliograph exited; see ${logOf(args)} for the reason`);
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
  if (!existsSync(examples))
    throw new CommandError("folder", "the examples are missing: run this command in a checkout");
  await mkdir(args.dataFolder, { recursive: true, mode: 0o700 });
  await buildConsole(signal);
  const { prometheus, dataFolder: folder } = args;
  await startSurroundings({ prometheus, environment, folder, signal, say }, stops).catch((error: unknown) => {
    throw new CommandError("failed", error instanceof Error ? error.message : String(error), error);
  });
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

function startServer(args: UpArguments): Child {
  const { port, adminPort, dataFolder, natsServer } = args;
  const flags = ["--port", String(port), "--admin-port", String(adminPort), "--data", dataFolder];
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
      throw new CommandError("failed", `Heliograph did not start; see ${logOf(args)} for the reason`);
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

/** Lines for a shell, to be copied as they are. */
function whatToTry({ url, adminUrl, dataFolder, tokenFile }: Place): string {
  return `# Heliograph serves ${url} until Ctrl-C. In another terminal, in the same folder:
export HELIOGRAPH_URL=${url} HELIOGRAPH_TOKEN_FILE=${inShell(tokenFile)}
npx heliograph open --data ${inShell(dataFolder)} --role metrics-finance
npx heliograph send payout.created --tenant lumen -d '{"payout_id":"mine"}' --wait
npx heliograph events list --since 1h
npx heliograph query deposits_success_pct --filter region=eu --group-by psp -o chart
npx heliograph slo
npx heliograph gate rate
curl -s ${adminUrl}/healthz
`;
}

/** Builds the console in a checkout that has none yet. Packages bring it; without it the API works as well. */
async function buildConsole(signal: AbortSignal): Promise<void> {
  const [config, builder] = [inRoot("console/vite.config.ts"), inRoot("node_modules/vite/bin/vite.js")];
  if (existsSync(inRoot("dist/console/index.html")) || !existsSync(config) || !existsSync(builder)) return;
  const args = [builder, "build", "--config", config, "--configLoader", "native", "--logLevel", "error"];
  await promisify(execFile)(process.execPath, args, { timeout: buildMsMax, signal }).catch(() => {
    if (!signal.aborted) say("The console was not built; run `npm run console` to see the reason.");
  });
}
