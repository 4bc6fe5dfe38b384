import { createClient } from "@redis/client";
import { createRedisSeenStore } from "../../../../runtime/recipient/stores/redis-seen-store.ts";
import { leaseSeconds, paying, type Database } from "./database.ts";

/** Each effect sets a field of its event, which a repeat does not change, and counts that it ran. */
export async function openRedisDatabase(url: string): Promise<Database> {
  const client = createClient({ url }).on("error", () => undefined);
  await client.connect();
  return {
    store: paying(
      createRedisSeenStore({ send: (command) => client.sendCommand(command), leaseSeconds }),
      async (id) => {
        await client.hSet("effects", id, "paid");
        await client.incr("runs");
      },
    ),
    prepare: async () => undefined,
    count: async () => {
      const events = await client.hLen("effects");
      return { events, effects: events, runs: Number(await client.get("runs")) };
    },
    close: async () => client.destroy(),
  };
}
