import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Refusal } from "../../../runtime/errors/refusal.ts";
import { startChildServer, type ChildServer } from "../../../runtime/nats/child-server.ts";
import { temporaryFolder, type TemporaryFolder } from "../../support/temp-folder.ts";
import { waitFor } from "../../support/wait.ts";
import { startWebhookPartner } from "../../support/webhook-partner.ts";
import { resolveTool } from "../../tools/resolve.ts";
import { configOf, eventBytes, memoryLog, partnerConfig, startEngine } from "../webhooks/engine-fixture.ts";

const run = promisify(execFile);
const smallMebibytes = 40;
const largeMebibytes = 160;

const folder: TemporaryFolder = await temporaryFolder("disk");
const canMount = await run("mount", ["-t", "tmpfs", "-o", `size=${smallMebibytes}m`, "tmpfs", folder.path]).then(
  () => true,
  () => false,
);
if (!canMount) {
  console.warn("SKIPPED: a full disk needs the right to mount a small tmpfs");
}

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
  test("is answered with a coded 503, and once there is room everything accepted is delivered", async () => {
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
    expect((refusal as Refusal).retryAfterSeconds).toBeGreaterThan(0);

    await run("mount", ["-o", `remount,size=${largeMebibytes}m`, folder.path]);
    await waitFor(() => engine.ingest(eventBytes("after", { data })), { timeoutMs, what: "room", pollMs: 250 });
    const missing = (): readonly string[] => [...accepted, "after"].filter((id) => partner.of(id).length === 0);
    await waitFor(() => missing().length === 0, { timeoutMs, what: "every accepted event" });
    expect(missing()).toEqual([]);
    await engine.stop();
    await partner.close();
  });
});
