import { jetstream, jetstreamManager } from "@nats-io/jetstream";
import { Kvm } from "@nats-io/kv";
import { connect } from "@nats-io/transport-node";
import { openNatsSeenStore } from "../../../../runtime/recipient/stores/nats-seen-store.ts";
import { leaseSeconds, paying, type Database } from "./database.ts";

const streamMessagesMax = 200_000;
const dayMs = 86_400_000;

/** Each effect puts a key of its event, which a repeat does not change, and adds a message to a stream of runs. */
export async function openNatsDatabase(url: string): Promise<Database> {
  const connection = await connect({ servers: url });
  const kvm = new Kvm(connection);
  const manager = await jetstreamManager(connection);
  const seen = await kvm.create("seen", { ttl: dayMs, markerTTL: 60_000 });
  const effects = await kvm.create("effects");
  return {
    store: paying(await openNatsSeenStore({ bucket: seen, leaseSeconds }), async (id) => {
      await effects.put(id, "paid");
      await jetstream(connection).publish("runs");
    }),
    prepare: async () => {
      await manager.streams.add({ name: "runs", subjects: ["runs"], max_msgs: streamMessagesMax });
    },
    count: async () => {
      const events = (await effects.status()).values;
      return { events, effects: events, runs: (await manager.streams.info("runs")).state.messages };
    },
    close: () => connection.close(),
  };
}
