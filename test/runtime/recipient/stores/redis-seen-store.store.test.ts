import { createClient } from "@redis/client";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { SeenStore } from "../../../../runtime/recipient/seen-store.ts";
import type { Claim } from "../../../../runtime/recipient/stores/claim.ts";
import { createRedisSeenStore } from "../../../../runtime/recipient/stores/redis-seen-store.ts";
import { startRedis, type RedisHandle } from "../../../support/debian/redis.ts";
import { waitFor } from "../../../support/wait.ts";
import { findDebianServer } from "../../../tools/debian-server.ts";
import { testClaims, testSeenStore } from "./seen-store-contract.ts";

const found = await findDebianServer("redis-server");
const nothing = async (): Promise<void> => {};
const key = "idempotency:event:e1";

describe.skipIf("missing" in found)("the store in Redis", () => {
  let server: RedisHandle;
  let client: ReturnType<typeof connectTo>;
  let store: SeenStore<Claim>;
  const send = (command: string[]): Promise<unknown> => client.sendCommand(command);
  beforeAll(async () => {
    server = await startRedis(found);
    client = connectTo(server.url);
    await client.connect();
    store = createRedisSeenStore({ send });
  });
  afterAll(async () => {
    client.destroy();
    await server.stop();
  });
  beforeEach(async () => {
    await send(["FLUSHALL"]);
  });

  testSeenStore(() => store);

  test("keeps the record under the key of the seed, for 8 days (Webhook Event Delivery §2.2, §8)", async () => {
    await store.once("e1", "v1", nothing);
    expect(JSON.parse(String(await send(["GET", key])))).toMatchObject({ status: "ok", handler_version: "v1" });
    const ttlMs = Number(await send(["PTTL", key]));
    expect(ttlMs).toBeGreaterThan(8 * 86_400_000 - 600_000);
    expect(ttlMs).toBeLessThanOrEqual(8 * 86_400_000);
  });

  testClaims(async (leaseSeconds) => createRedisSeenStore({ send, leaseSeconds }));

  test("leaves a claim that expires when the process ends between effect and mark", async () => {
    const cut = createRedisSeenStore({
      leaseSeconds: 1,
      send: (command) => (command[1]?.includes("held") ? Promise.reject(new Error("cut")) : send(command)),
    });
    await expect(cut.once("e1", "v1", nothing)).rejects.toThrow("cut");
    expect(await store.find("e1")).toBeUndefined();
    expect(await store.once("e1", "v1", nothing)).toBe("busy");
    const again = async (): Promise<boolean> => (await store.once("e1", "v2", nothing)) === "processed";
    await waitFor(again, { timeoutMs: 20_000, what: "the end of the lease" });
  });

  test("returns full when Redis has no memory and evicts nothing", async () => {
    await send(["CONFIG", "SET", "maxmemory", "1"]);
    try {
      expect(await store.once("e1", "v1", nothing)).toBe("full");
    } finally {
      await send(["CONFIG", "SET", "maxmemory", "0"]);
    }
    expect(await store.once("e1", "v1", nothing)).toBe("processed");
  });

  test("refuses a time of less than a day (Webhook Event Delivery §8)", () => {
    expect(() => createRedisSeenStore({ send, ttlSeconds: 86_399 })).toThrow(RangeError);
  });
});

function connectTo(url: string) {
  return createClient({ url }).on("error", () => undefined);
}
