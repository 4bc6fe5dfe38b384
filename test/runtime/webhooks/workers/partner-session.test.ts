import { Registry } from "prom-client";
import { expect, test } from "vitest";
import type { DeliveryContext } from "../../../../runtime/webhooks/delivery/delivery-context.ts";
import { compilePartners } from "../../../../runtime/webhooks/partners/partner.ts";
import { PartnerSession } from "../../../../runtime/webhooks/workers/partner-session.ts";
import { createPartnerMetrics } from "../../../../runtime/webhooks/telemetry/delivery-metrics.ts";
import { ManualClock } from "../../../support/manual-clock.ts";
import { configOf, partnerConfig } from "../engine-fixture.ts";

test("a partner that returns to a shared lane has the pause that it got elsewhere", async () => {
  const clock = new ManualClock();
  const pause = { kind: "open", cause: "rate_limited", sinceMs: 0, untilMs: 60_000, restMs: 60_000, failures: 0 };
  const stored: unknown[] = [];
  const context = {
    holds: { keep: () => undefined, read: async () => stored[0] },
    disabled: { isDisabled: async () => false },
    now: () => 1_000,
    clock,
    partnerMetrics: createPartnerMetrics(new Registry()),
  } as unknown as DeliveryContext;
  const partnerWith = (promoted: ReadonlySet<string>) =>
    compilePartners(configOf(partnerConfig("one", "https://partner.test/webhooks/v1/x")), [], promoted, 0)[0];
  const partner = partnerWith(new Set());
  const other = partnerWith(new Set());
  if (partner === undefined || other === undefined) throw new Error("no partner");
  const session = new PartnerSession(context, partner, () => partner);
  expect(await session.holdReason()).toBeUndefined();
  stored.push(pause);
  session.use(other);
  expect(await session.holdReason()).toBe("open");
});

test("the owner of a shared lane reports open circuit breakers, also after the lane comes back", async () => {
  const registry = new Registry();
  const circuitBreaker = { failures: 1, openMs: 60_000, maxOpenMs: 60_000 };
  const [partner] = compilePartners(
    configOf(partnerConfig("one", "https://partner.test/webhooks/v1/x", { circuitBreaker })),
    [],
  );
  if (partner === undefined) throw new Error("no partner");
  let kept: unknown;
  const context = {
    holds: { keep: (_: unknown, state: unknown) => void (kept = state), read: async () => kept },
    now: () => 1_000,
    clock: new ManualClock(),
    partnerMetrics: createPartnerMetrics(registry),
  } as unknown as DeliveryContext;
  const open = async (): Promise<number | undefined> =>
    (await registry.getSingleMetric("heliograph_webhook_partner_breaker_open")?.get())?.values[0]?.value;
  const session = new PartnerSession(context, partner, () => partner);
  session.observe({ health: "failing" }, 1, {});
  expect(await open()).toBe(1);
  session.release();
  expect(await open()).toBe(0);
  session.own();
  await session.restore();
  expect(await open()).toBe(1);
});
