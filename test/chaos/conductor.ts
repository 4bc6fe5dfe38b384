import { setTimeout as sleep } from "node:timers/promises";
import { loadavg } from "node:os";
import { drawFault, faultText, losesServer, type Fault, type FaultOptions } from "./faults.ts";
import type { ChaosPod, Installation } from "./installation.ts";
import type { PastFault } from "./ledger.ts";
import type { Partner } from "./partners.ts";

/** A fault with what was measured around it. */
export interface ConductedFault extends PastFault {
  /** Load average of the machine over the last minute. */
  readonly load: number;
  /** Until all streams had current copies again, from the beginning; absent for other faults. */
  readonly currentMs?: number;
}

/** Calm between two faults. */
const calmMsMin = 4_000;
const calmMsMax = 10_000;
/** A starved process runs so long of each turn. */
const turnMs = 200;
const runsMs = 20;

/** Draws faults and applies them, one after another, until the time is over. */
export async function conduct(
  installation: Installation,
  options: FaultOptions,
  random: () => number,
  untilMs: number,
): Promise<readonly ConductedFault[]> {
  const past: ConductedFault[] = [];
  while (Date.now() < untilMs) {
    const fault = drawFault(options, random);
    past.push(await conductOne(installation, fault));
    await sleep(calmMsMin + random() * (calmMsMax - calmMsMin));
  }
  return past;
}

async function conductOne(installation: Installation, fault: Fault): Promise<ConductedFault> {
  const { servers } = installation;
  // A wipe while another copy is not current would lose data for good, as the loss of a disk would.
  if (losesServer(fault)) await servers.untilCurrent();
  const [load = 0] = loadavg();
  const fromMs = Date.now();
  await applyFault(installation, fault);
  const toMs = Date.now();
  if (!losesServer(fault)) return { fault, fromMs, toMs, load };
  await servers.untilCurrent();
  return { fault, fromMs, toMs, load, currentMs: Date.now() - fromMs };
}

type Targeted = Extract<Fault, { readonly target: number }>;

/** Applies a fault and takes it back. */
async function applyFault(installation: Installation, fault: Fault): Promise<void> {
  if ("target" in fault) {
    return fault.verb.endsWith("_pod") || fault.verb === "step_clock"
      ? applyToPod(podOf(installation, fault.target), fault)
      : applyToServer(installation, fault);
  }
  const partner = partnerOf(installation, fault.partner);
  if (!("how" in fault)) return fault.verb === "edit_partner" ? partner.edit() : partner.rotate();
  partner.misbehave(fault.how);
  await sleep(fault.ms);
  partner.misbehave(undefined);
}

async function applyToServer({ servers }: Installation, { verb, target, ms }: Targeted): Promise<void> {
  if (verb === "stop_server") return stopped((signal) => servers.signal(target, signal), ms);
  if (verb === "starve_server") return starved((signal) => servers.signal(target, signal), ms);
  if (verb === "fill_disk") {
    await servers.fill(target);
    await sleep(ms);
    await servers.free(target);
    // A nats-server that could not write leaves JetStream off until it is started again.
    await servers.kill(target);
  } else {
    await servers.kill(target);
    await sleep(ms);
  }
  await servers.restart(target, verb === "wipe_server");
}

async function applyToPod(pod: ChaosPod, fault: Targeted): Promise<void> {
  const { verb, ms } = fault;
  if (verb === "stop_pod") return stopped((signal) => pod.signal(signal), ms);
  if (verb === "starve_pod") return starved((signal) => pod.signal(signal), ms);
  if (verb === "step_clock") {
    await pod.clock?.step(fault.stepMs);
    await sleep(ms);
    return pod.clock?.step(0);
  }
  await pod.end("SIGKILL");
  pod.scrapes.ended(Date.now());
  await sleep(ms);
  await pod.start();
}

async function stopped(send: (signal: NodeJS.Signals) => void, ms: number): Promise<void> {
  send("SIGSTOP");
  await sleep(ms);
  send("SIGCONT");
}

async function starved(send: (signal: NodeJS.Signals) => void, ms: number): Promise<void> {
  for (const untilMs = Date.now() + ms; Date.now() < untilMs;) {
    await stopped(send, turnMs - runsMs);
    await sleep(runsMs);
  }
}

function podOf({ pods }: Installation, target: number): ChaosPod {
  const pod = pods[target];
  if (pod === undefined) throw new Error(`there is no pod ${target}`);
  return pod;
}

function partnerOf({ partners }: Installation, name: string): Partner {
  const partner = partners.find(({ profile }) => profile.name === name);
  if (partner === undefined) throw new Error(`there is no partner ${name}`);
  return partner;
}

/** One line for a fault with its load and recovery. */
export function conductedText({ fault, fromMs, load, currentMs }: ConductedFault, startedMs: number): string {
  const at = `${((fromMs - startedMs) / 1_000).toFixed(1)} s`.padStart(9);
  const current = currentMs === undefined ? "" : `, copies current after ${currentMs} ms`;
  return `${at}  load ${load.toFixed(1)}  ${faultText(fault)}${current}`;
}
