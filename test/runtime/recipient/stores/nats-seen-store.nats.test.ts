import { Kvm, type KV } from "@nats-io/kv";
import { connect, type NatsConnection } from "@nats-io/transport-node";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { SeenStore } from "../../../../runtime/recipient/seen-store.ts";
import type { Claim } from "../../../../runtime/recipient/stores/claim.ts";
import { natsKey, openNatsSeenStore } from "../../../../runtime/recipient/stores/nats-seen-store.ts";
import { startNatsServer, type NatsServerHandle } from "../../../support/nats-server.ts";
import { waitFor } from "../../../support/wait.ts";
import { testClaims, testSeenStore } from "./seen-store-contract.ts";

const dayMs = 86_400_000;
const nothing = async (): Promise<void> => {};

describe("the store in a bucket of NATS", () => {
  let server: NatsServerHandle;
  let connection: NatsConnection;
  let kvm: Kvm;
  let bucket: KV;
  let store: SeenStore<Claim>;
  beforeAll(async () => {
    server = await startNatsServer();
    connection = await connect({ servers: server.url });
    kvm = new Kvm(connection);
    bucket = await kvm.create("seen", { ttl: 8 * dayMs, markerTTL: 60_000 });
    store = await openNatsSeenStore({ bucket });
  });
  afterAll(async () => {
    await connection.close();
    await server.stop();
  });

  testSeenStore(() => store);

  test("keeps the record under the key of the seed, escaped (Webhook Event Delivery §2.2)", async () => {
    await store.once("evt_1", "v1", nothing);
    const entry = await bucket.get("idempotency=3Aevent=3Aevt_1");
    expect(entry?.json()).toMatchObject({ status: "ok", handler_version: "v1" });
  });

  testClaims((leaseSeconds) => openNatsSeenStore({ bucket, leaseSeconds }));

  test("keeps a mark longer than the lease of its claim", async () => {
    const short = await openNatsSeenStore({ bucket, leaseSeconds: 1 });
    await short.once("kept", "v1", nothing);
    await bucket.create("sentinel", "", "2s");
    await waitFor(async () => (await bucket.get("sentinel"))?.operation !== "PUT", {
      timeoutMs: 20_000,
      what: "the end of a key that expires later",
    });
    expect(await short.once("kept", "v2", nothing)).toBe("seen");
  });

  test("returns full when the bucket has no room, before the effect runs", async () => {
    const small = await openNatsSeenStore({
      bucket: await kvm.create("small", { ttl: dayMs, markerTTL: 60_000, max_bytes: 4_096 }),
    });
    let effects = 0;
    const results: string[] = [];
    for (let turn = 0; turn < 40; turn += 1) {
      const version = `v1${"x".repeat(turn % 7)}`;
      results.push(await small.once(`e${turn}`, version, async () => void (effects += 1)));
    }
    expect([...new Set(results)]).toEqual(["processed", "full"]);
    expect(results.filter((result) => result === "processed")).toHaveLength(effects);
  });

  test("refuses a bucket that forgets too early, and one whose claims would never expire", async () => {
    const early = await kvm.create("early", { ttl: dayMs - 1_000, markerTTL: 60_000 });
    await expect(openNatsSeenStore({ bucket: early })).rejects.toThrow(RangeError);
    const lasting = await kvm.create("lasting", { ttl: dayMs });
    await expect(openNatsSeenStore({ bucket: lasting })).rejects.toThrow("The bucket lasting has no markerTTL");
    const forever = await kvm.create("forever", { markerTTL: 60_000 });
    await expect(openNatsSeenStore({ bucket: forever })).resolves.toBeDefined();
  });
});

describe("natsKey", () => {
  test.each([
    ["idempotency:event:evt_1", "idempotency=3Aevent=3Aevt_1"],
    ["a.b", "a=2Eb"],
    ["a=2Eb", "a=3D2Eb"],
    ["€", "=E2=82=AC"],
    ["😀*>", "=F0=9F=98=80=2A=3E"],
  ])("writes %s as %s, so that different keys stay different", (key, escaped) => {
    expect(natsKey(key)).toBe(escaped);
  });
});
