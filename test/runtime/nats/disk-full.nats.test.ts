import { execFile } from "node:child_process";
import { statfs } from "node:fs/promises";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ApiError } from "../../../runtime/errors/api-error.ts";
import { startChildServer, type ChildServer } from "../../../runtime/nats/child/child-server.ts";
import { temporaryFolder, type TemporaryFolder } from "../../support/temp-folder.ts";
import { waitFor } from "../../support/wait.ts";
import { startWebhookPartner } from "../../support/webhook-partner.ts";
import { resolveTool } from "../../tools/resolve.ts";
import { configOf, eventBytes, memoryLog, partnerConfig, startEngine, streamsOf } from "../webhooks/engine-fixture.ts";
import { countFaults, idsOf, produceAll, untilDrained } from "../webhooks/fault-fixture.ts";

const run = promisify(execFile);
const smallMebibytes = 40;
const largeMebibytes = 160;
/** Less than 5,000 events of 3 KB need. */
const roomMebibytes = 10;

const folder: TemporaryFolder = await temporaryFolder("disk");
const canMount = await run("mount", ["-t", "tmpfs", "-o", `size=${smallMebibytes}m`, "tmpfs", folder.path]).then(
  () => true,
  () => false,
);
if (!canMount) console.warn("SKIPPED: a full disk needs the right to mount a small tmpfs");

let server: ChildServer;

beforeAll(async () => {
  if (canMount) {
    const environment = { HELIOGRAPH_NATS_SERVER: await resolveTool("nats-server") };
    server = await startChildServer({ dataFolder: folder.path, log: memoryLog().log, environment });
  }
});
afterAll(async () => {
  if (canMount) {
    await server.stop();
    await run("umount", [folder.path]);
  }
  await folder.remove();
});

const timeoutMs = 40_000;

describe.skipIf(!canMount)("a full disk", () => {
  test("causes a coded 503, and every accepted event is delivered once there is free space", async () => {
    const partner = await startWebhookPartner();
    const engine = await startEngine(server.access, configOf(partnerConfig("one", partner.url)));
    const data = { pad: "x".repeat(200_000) };
    const accepted: string[] = [];
    const fill = async (): Promise<never> => {
      for (;;) {
        const eventId = `e-${accepted.length}`;
        await engine.ingest(eventBytes(eventId, { data }));
        accepted.push(eventId);
      }
    };
    const refusal: unknown = await fill().catch((error: unknown) => error);
    expect(refusal).toMatchObject({ code: "events_unavailable", status: 503 });
    expect((refusal as ApiError).retryAfterSeconds).toBeGreaterThan(0);

    await run("mount", ["-o", `remount,size=${largeMebibytes}m`, folder.path]);
    await waitFor(() => engine.ingest(eventBytes("after", { data })), { timeoutMs, what: "room", pollMs: 250 });
    const missing = (): readonly string[] => [...accepted, "after"].filter((id) => partner.of(id).length === 0);
    await waitFor(() => missing().length === 0, { timeoutMs, what: "every accepted event" });
    expect(missing()).toEqual([]);
    await engine.stop();
    await partner.close();
  });

  test(
    "in the middle of 5,000 events loses none of them",
    async () => {
      const prefix = "many";
      const ids = idsOf(5_000);
      const partner = await startWebhookPartner();
      const config = configOf(partnerConfig("one", partner.url, { timeoutMs: 30_000 }));
      // What a server that could not write forgot it had been told of is settled by the search for orphans.
      const engine = await startEngine(server.access, config, { settings: streamsOf(prefix) });
      const { blocks, bfree, bsize } = await statfs(folder.path);
      const usedMebibytes = Math.ceil(((blocks - bfree) * bsize) / 1024 ** 2);
      await run("mount", ["-o", `remount,size=${usedMebibytes + roomMebibytes}m`, folder.path]);
      const data = { pad: "x".repeat(3_000) };
      let refused = 0;
      const bring = async (eventId: string): Promise<void> => {
        await engine.ingest(eventBytes(eventId, { data })).catch((error: unknown) => {
          refused += 1;
          throw error;
        });
      };
      const produced = produceAll(ids, bring);
      await waitFor(() => refused > 0, { timeoutMs, what: "a full disk" });
      await run("mount", ["-o", `remount,size=${usedMebibytes + largeMebibytes}m`, folder.path]);
      await produced;
      await waitFor(() => ids.every((id) => partner.of(id).length > 0), { timeoutMs, what: "every event" });
      await untilDrained(engine.nats, prefix, timeoutMs);
      const counted = await countFaults(partner, ids, engine.nats, prefix);
      console.log(`disk full: ${JSON.stringify(counted)} of ${ids.length}, ${refused} refused and brought again`);
      expect({ ...counted, doubled: 0 }).toEqual({ lost: 0, doubled: 0, needless: 0 });
      await engine.stop();
      await partner.close();
    },
    2 * timeoutMs,
  );
});
