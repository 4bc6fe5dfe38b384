import { connect } from "@nats-io/transport-node";
import { uidOf } from "../../crds/compile/origin.ts";
import { createLayout } from "../../runtime/nats/layout.ts";
import { partnerKey } from "../../runtime/webhooks/ids.ts";

/** A server became the leader of a stream or consumer. */
interface Election {
  readonly atMs: number;
  /** `STREAM`, or `STREAM.CONSUMER`. */
  readonly of: string;
}

/** What the servers of a cluster report and pass on during a run. */
export interface Observed {
  readonly elections: readonly Election[];
  /** When each pod sent heartbeats, by its key. */
  readonly beatsMs: ReadonlyMap<string, readonly number[]>;
  close(): Promise<void>;
}

const { streams, buckets } = createLayout("hg");
/** Tokens of an advisory's subject before the names. */
const subjectTokens = 5;

/** Listens at each server: one that is stopped delivers late. Source: NATS ADR-8. */
export async function observe(urls: readonly string[]): Promise<Observed> {
  const found = new Map<string, Election>();
  const beatsMs = new Map<string, number[]>();
  const note = (subject: string): void => {
    const times = beatsMs.get(subject) ?? [];
    times.push(Date.now());
    beatsMs.set(subject, times);
  };
  const connections = await Promise.all(
    urls.map((url) => connect({ servers: [url], maxReconnectAttempts: -1, reconnectTimeWait: 200 })),
  );
  for (const connection of connections) {
    connection.subscribe("$JS.EVENT.ADVISORY.*.LEADER_ELECTED.>", {
      callback: (error, message) => {
        if (error !== null) return;
        const { id, timestamp } = message.json<{ readonly id: string; readonly timestamp: string }>();
        const of = message.subject.split(".").slice(subjectTokens).join(".");
        found.set(id, { atMs: Date.parse(timestamp), of });
      },
    });
    connection.subscribe(`$KV.${buckets.pods}.*`, {
      callback: (error, message) => {
        if (error === null) note(message.subject);
      },
    });
  }
  return {
    beatsMs,
    get elections() {
      return [...found.values()];
    },
    close: async () => void (await Promise.all(connections.map((each) => each.close()))),
  };
}

/** Times at which something was elected that deliveries to the partner need. */
export function electedMs({ elections }: Pick<Observed, "elections">, name: string): readonly number[] {
  const key = partnerKey(uidOf({ kind: "WebhookPartner", metadata: { namespace: "default", name } }));
  const needed = new Set([
    streams.events,
    streams.deliveries,
    streams.attempts,
    `KV_${buckets.pods}`,
    `KV_${buckets.pausedPartners}`,
    `${streams.events}.router`,
    `${streams.deliveries}.first-${key}`,
  ]);
  return elections.filter(({ of }) => needed.has(of)).map(({ atMs }) => atMs);
}
