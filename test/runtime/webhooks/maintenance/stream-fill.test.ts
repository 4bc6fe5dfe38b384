import { Registry } from "prom-client";
import { expect, onTestFinished, test, vi } from "vitest";
import { createLayout } from "../../../../runtime/nats/layout.ts";
import type { NatsConnectionHandle } from "../../../../runtime/nats/connection/connect.ts";
import { createStreamFill } from "../../../../runtime/webhooks/maintenance/stream-watch.ts";
import {
  createDeliveryMetrics,
  createPartnerMetrics,
} from "../../../../runtime/webhooks/telemetry/delivery-metrics.ts";
import { testSettings } from "../engine-fixture.ts";

async function seriesOf(registry: Registry, name: string): Promise<readonly string[]> {
  const lines = (await registry.metrics()).split("\n");
  return lines.filter((line) => new RegExp(`^heliograph_webhook_${name}[{ ]`, "u").test(line));
}

test("the size of a stream without a leader has no series, and that of all others stays", async () => {
  vi.useFakeTimers({ toFake: ["performance"] });
  onTestFinished(() => void vi.useRealTimers());
  vi.advanceTimersByTime(10_000);
  const registry = new Registry();
  const leaderless = new Set<string>();
  const info = async (name: string) => ({
    cluster: leaderless.has(name) ? {} : { leader: "n0" },
    state: { messages: 0, bytes: leaderless.has(name) ? 0 : 7, first_seq: 1 },
  });
  const layout = createLayout("hg");
  const poll = createStreamFill({
    nats: { manager: { streams: { info } } } as unknown as NatsConnectionHandle,
    layout,
    settings: testSettings.streams,
    metrics: createDeliveryMetrics(registry),
  });
  await poll();
  expect(await seriesOf(registry, "stream_bytes")).toHaveLength(4);
  leaderless.add(layout.streams.events);
  vi.advanceTimersByTime(10_000);
  await poll();
  const left = await seriesOf(registry, "stream_bytes");
  expect(left).toHaveLength(3);
  expect(left.join()).not.toContain('"events"');
});

test("gauges of waiting deliveries have no series before the first count, and while nothing can be counted", async () => {
  const registry = new Registry();
  const metrics = createPartnerMetrics(registry);
  const all = async (): Promise<number> => {
    const names = ["backlog", "partner_backlog", "oldest_due_seconds", "partner_oldest_due_seconds"];
    return (await Promise.all(names.map((name) => seriesOf(registry, name)))).flat().length;
  };
  expect(await all()).toBe(0);
  metrics.backlog(3, [["default/one", 3]]);
  metrics.oldestDue(undefined, 1);
  metrics.oldestDue("default/one", 1);
  expect(await all()).toBe(4);
  metrics.unknown("backlog");
  expect(await all()).toBe(2);
  metrics.unknown("oldestDue");
  expect(await all()).toBe(0);
});
