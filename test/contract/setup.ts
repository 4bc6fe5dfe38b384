// Compares every exchange of the servers that tests start with the OpenAPI document that they serve.
import { existsSync, readFileSync, renameSync, rmSync } from "node:fs";
import { afterAll, afterEach } from "vitest";
import { exchangesOf, observeServers, recordingFile, type Exchange } from "./exchange.ts";

interface Found {
  readonly faults: string[];
}

/** Files of the unit tests share a process, which subscribes once. */
const shared = globalThis as { heliographContract?: Found };

if (shared.heliographContract === undefined) {
  const faults: string[] = [];
  shared.heliographContract = { faults };
  observeServers(async (exchange) => {
    faults.push(...(await faultsOf(exchange)));
  });
  // A child may record after the last test.
  process.once("exit", () => rmSync(recordingFile, { force: true }));
}

/** Returns what was found since the last call, in this process and in its children. */
export async function takeFaults(): Promise<readonly string[]> {
  const ofChildren = await Promise.all(takeRecorded().map(faultsOf));
  return [...new Set([...(shared.heliographContract?.faults.splice(0) ?? []), ...ofChildren.flat()])];
}

/** What children recorded since the last call. They go on to record in a new file. */
function takeRecorded(): readonly Exchange[] {
  if (!existsSync(recordingFile)) return [];
  const taken = `${recordingFile}.taken`;
  renameSync(recordingFile, taken);
  const recording = readFileSync(taken, "utf8");
  rmSync(taken);
  return exchangesOf(recording);
}

async function requireNoFaults(): Promise<void> {
  const faults = await takeFaults();
  if (faults.length > 0) throw new Error(`not as the served OpenAPI document says:\n${faults.join("\n")}`);
}

afterEach(requireNoFaults);
// Servers of a whole file may record until their end.
afterAll(requireNoFaults);

async function faultsOf(exchange: Exchange): Promise<readonly string[]> {
  const { faultsOf: check } = await import("./contract.ts");
  return check(exchange);
}
