import { createHash } from "node:crypto";
import { createServer } from "node:http";
import { createMemorySeenStore } from "../../runtime/recipient/seen-store.ts";
import { DeliveryRefusal, type DeliveryReport } from "../../runtime/recipient/receive.ts";
import { createRecipient } from "../../runtime/recipient/recipient.ts";
import { listenOnLoopback } from "../support/loopback.ts";

/** One of the recipients: an HTTP server around the recipient kit that counts what it does. */
export interface Recipient {
  readonly url: string;
  /** Effects by event id. More than one is a defect. */
  readonly effects: ReadonlyMap<string, number>;
  /** Texts of the deliveries of each event without `attempt`, by event id. More than one is a defect. */
  readonly texts: ReadonlyMap<string, ReadonlySet<string>>;
  /** Events that it refused for good. */
  readonly refused: ReadonlySet<string>;
  /** Deliveries of events that had their effect before. */
  readonly repeats: () => number;
  /** Answers of 503, each of which makes a retry. */
  readonly failures: () => number;
  /** Deliveries that did not verify, by fault. */
  readonly unverified: ReadonlyMap<string, number>;
  /** When each key signed last, Unix milliseconds. */
  readonly signedMs: ReadonlyMap<string, number>;
  /** Lets the recipient accept a key; it never forgets one. */
  learn(key: string): void;
  close(): Promise<void>;
}

/** The bytes of a recipient's signing key, as text. */
export function keyText(slot: number, key: string): string {
  return createHash("sha256").update(`recipient ${slot} key ${key}`).digest("hex");
}

/** What becomes of an event at every recipient: one in a hundred is refused for good, one in thirty once. */
function fateOf(eventId: string): "taken" | "refused" | "fails_once" {
  const draw = createHash("sha256").update(eventId).digest().readUInt16BE();
  if (draw % 100 === 0) return "refused";
  return draw % 30 === 1 ? "fails_once" : "taken";
}

/** Each delivery ends with its number. */
function withoutAttempt(body: Uint8Array): string {
  return new TextDecoder().decode(body).replace(/,"attempt":\d+\}$/u, "}");
}

/** Starts the recipient of one slot. */
export async function startRecipient(slot: number): Promise<Recipient> {
  const effects = new Map<string, number>();
  const texts = new Map<string, Set<string>>();
  const refused = new Set<string>();
  const failed = new Set<string>();
  const unverified = new Map<string, number>();
  const signedMs = new Map<string, number>();
  const keys = new Map<string, Buffer>();
  const counts = { repeats: 0, failures: 0 };
  const handle = (eventId: string, body: Uint8Array): void => {
    texts.set(eventId, (texts.get(eventId) ?? new Set()).add(withoutAttempt(body)));
    const fate = fateOf(eventId);
    if (fate === "refused") {
      refused.add(eventId);
      throw new DeliveryRefusal(422, "invalid_state", "This event is refused for good");
    }
    if (fate === "fails_once" && !failed.has(eventId)) {
      failed.add(eventId);
      counts.failures += 1;
      throw new DeliveryRefusal(503, "maintenance", "This event is taken at the second attempt");
    }
    effects.set(eventId, (effects.get(eventId) ?? 0) + 1);
  };
  const report = ({ outcome, fault, keyId }: DeliveryReport): void => {
    if (outcome === "duplicate") counts.repeats += 1;
    if (fault !== undefined) unverified.set(fault, (unverified.get(fault) ?? 0) + 1);
    if (keyId !== undefined) signedMs.set(keyId, Date.now());
  };
  const server = createServer(
    createRecipient({
      keys: () => [...keys].map(([id, secret]) => ({ id, secret })),
      store: createMemorySeenStore(),
      handle: async (event, _transaction, body) => handle(event.event_id, body),
      handlerVersion: "1",
      report,
    }),
  );
  const loopback = await listenOnLoopback(server);
  return {
    url: `http://127.0.0.1:${loopback.port}/webhooks/v1/events`,
    effects,
    texts,
    refused,
    repeats: () => counts.repeats,
    failures: () => counts.failures,
    unverified,
    signedMs,
    learn: (key) => void keys.set(key, Buffer.from(keyText(slot, key))),
    close: () => loopback.close(),
  };
}
