import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { connectNats } from "../../../../runtime/nats/connection/connect.ts";
import { openHeaderScan } from "../../../../runtime/nats/messages/header-scan.ts";
import { startNatsServer, type NatsServerHandle } from "../../../support/nats-server.ts";

const stream = "SCANNED";
let server: NatsServerHandle;
beforeAll(async () => {
  server = await startNatsServer();
});
afterAll(async () => server.stop());

describe("a scan of headers", () => {
  test("rejects on a connection that has ended, and nothing fires afterwards", async () => {
    const handle = await connectNats({ servers: [server.url] });
    await handle.manager.streams.add({ name: stream, subjects: ["scanned.*"] });
    const scan = await openHeaderScan(handle, stream, { subjects: ["scanned.*"], from: { seq: 1 } });
    await handle.drain();
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    await expect(scan.next(10)).rejects.toThrow(/closed/iu);
    expect(vi.getTimerCount()).toBe(0);
  });
});
