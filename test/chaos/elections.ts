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

/** Elections of the servers of a cluster. */
export interface Elections {
  readonly all: readonly Election[];
  close(): Promise<void>;
}

const subjectTokens = 5;

/** Follows the advisories at each server: one that is stopped delivers them late. Source: NATS ADR-8. */
export async function followElections(urls: readonly string[]): Promise<Elections> {
  const found = new Map<string, Election>();
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
  }
  return {
    get all() {
      return [...found.values()];
    },
    close: async () => void (await Promise.all(connections.map((each) => each.close()))),
  };
}

/** Times at which something was elected that deliveries to the partner need. */
export function electedMs({ all }: Pick<Elections, "all">, name: string): readonly number[] {
  const { streams, buckets } = createLayout("hg");
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
  return all.filter(({ of }) => needed.has(of)).map(({ atMs }) => atMs);
}
