import { isSoak } from "../../../support/soak.ts";
import type { Effects } from "./database.ts";
import { openDatabase } from "./open-database.ts";
import { flood, type FloodResult } from "./flood.ts";
import { startReceivers } from "./receivers.ts";

/** What happened, by the sender, by the processes and by the database. */
export interface Proof {
  readonly events: number;
  readonly sent: FloodResult;
  readonly counted: Effects;
  readonly outcomes: Readonly<Record<string, number>>;
  /** How often effects may run again: after requests that kills cut off, lost claims and failed calls of the store. */
  readonly repeatsMax: number;
}

const processes = 4;
const signingSecret = "exactly-once-exactly-once-exactly-once";

/** Sends a flood of deliveries to four processes and counts the effects: 1,000 events, in a soak 20,000. */
export async function prove(databaseName: string, url: string): Promise<Proof> {
  const seed = Number(process.env["HELIOGRAPH_SEED"] ?? Math.floor(Math.random() * 2 ** 31));
  process.stdout.write(`HELIOGRAPH_SEED=${seed}\n`);
  const [events, kills] = isSoak ? [20_000, 40] : [1_000, 6];
  const database = await openDatabase(databaseName, url);
  try {
    await database.prepare();
    const receivers = await startReceivers(processes, databaseName, url, signingSecret);
    try {
      const sent = await flood(receivers, { events, kills, secret: signingSecret, random: randomOf(seed) });
      const counted = await database.count();
      const outcomes = Object.fromEntries(receivers.outcomes);
      const repeatsMax = sent.cutOff + (outcomes["claim_lost"] ?? 0) + (outcomes["broken"] ?? 0);
      process.stdout.write(`${databaseName}: ${JSON.stringify({ events, ...sent, counted, outcomes, repeatsMax })}\n`);
      return { events, sent, counted, outcomes, repeatsMax };
    } finally {
      await receivers.stop();
    }
  } finally {
    await database.close();
  }
}

/** Mulberry32: equal numbers for equal seeds. */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
