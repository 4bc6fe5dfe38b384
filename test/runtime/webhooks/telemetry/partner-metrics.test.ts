import { Registry } from "prom-client";
import { describe, expect, test } from "vitest";
import type { DeliveryRecord } from "../../../../runtime/webhooks/records/delivery-record.ts";
import { createDueBacklog, createOldestDue } from "../../../../runtime/webhooks/maintenance/due-backlog.ts";
import { createPartnerFigures } from "../../../../runtime/webhooks/live/live-state.ts";
import type { AttemptOutcome } from "../../../../runtime/webhooks/settlement/outcome.ts";
import { boundedLabels, createPartnerMetrics } from "../../../../runtime/webhooks/telemetry/delivery-metrics.ts";
import { compilePartners } from "../../../../runtime/webhooks/partners/partner.ts";
import { configOf, partnerConfig } from "../engine-fixture.ts";

const partners = compilePartners(
  configOf(partnerConfig("one", "https://one.example/v1"), partnerConfig("two", "https://two.example/v1")),
  [],
);
const [partner] = partners;
if (partner === undefined) throw new Error("no partner");
const delivery: DeliveryRecord = {
  did: "d",
  generation: 0,
  attempt: 4,
  hop: 0,
  partner: partner.key,
  tenant: "t",
  eventId: "e",
  type: "a.b",
  acceptedAtMs: 1_000,
  attemptsBefore: 0,
};
const response = (status: number): AttemptOutcome => ({
  kind: "response",
  status,
  headers: {},
  body: "",
  bodyTruncated: false,
  timings: { totalMs: 1 },
});

/** `name{labels} value` of every figure without buckets. */
async function figures(registry: Registry): Promise<readonly string[]> {
  const lines = (await registry.metrics())
    .split("\n")
    .filter((line) => line.startsWith("heliograph_webhook_") && !line.includes("_bucket"));
  return lines.map((line) => line.slice("heliograph_webhook_".length));
}

describe("the metrics by partner (Webhook Event Delivery §6)", () => {
  test("count responses, ends of deliveries, their times and attempts", async () => {
    const registry = new Registry();
    const metrics = createPartnerMetrics(registry);
    for (const status of [204, 503, 429]) metrics.responded("default/one", response(status));
    metrics.responded("default/one", { kind: "failure", reason: "dns", detail: "", timings: { totalMs: 1 } });
    metrics.ended("default/one", delivery, { kind: "retry", atMs: 0, reason: "dns" }, 9_000);
    metrics.ended("default/one", delivery, { kind: "delivered" }, 3_500);
    metrics.ended("default/one", delivery, { kind: "disabled", reason: "status_410" }, 9_000);
    expect(await figures(registry)).toEqual(
      expect.arrayContaining([
        'partner_responses_total{partner="default/one",class="2xx"} 1',
        'partner_responses_total{partner="default/one",class="5xx"} 1',
        'partner_responses_total{partner="default/one",class="4xx"} 1',
        'partner_responses_total{partner="default/one",class="none"} 1',
        'partner_deliveries_total{partner="default/one",state="delivered"} 1',
        'partner_deliveries_total{partner="default/one",state="rejected"} 1',
        'partner_delivery_duration_seconds_sum{partner="default/one"} 2.5',
        "delivery_attempts_sum 8",
        "delivery_attempts_count 2",
      ]),
    );
  });

  test("have a bounded number of labels", () => {
    const label = boundedLabels(2);
    expect(["a", "b", "c", "a", "d", "b"].map(label)).toEqual(["a", "b", "other", "a", "other", "b"]);
  });
});

describe("the age of the oldest due delivery", () => {
  const stored = (storedAtMs: number) => ({ subject: "", seq: 1, storedAtMs, headers: {}, data: new Uint8Array() });

  test("is that of the oldest first attempt or retry, of all and of each partner", async () => {
    const registry = new Registry();
    const times: Readonly<Record<string, number>> = {
      "first *": 8_000,
      "retry *": 4_000,
      [`retry ${partner.key}`]: 4_000,
      [`first ${partners[1]?.key ?? ""}`]: 8_000,
    };
    const oldest = async (queue: string, token: string) => {
      const at = times[`${queue} ${token}`];
      return at === undefined ? undefined : stored(at);
    };
    await createOldestDue({
      deliveries: { oldest, size: async () => ({ messages: 3, bytes: 0 }) },
      own: () => partners,
      metrics: createPartnerMetrics(registry),
      figures: createPartnerFigures(),
      now: () => 10_000,
    })();
    expect(await figures(registry)).toEqual(
      expect.arrayContaining([
        "oldest_due_seconds 6",
        'partner_oldest_due_seconds{partner="default/one"} 6',
        'partner_oldest_due_seconds{partner="default/two"} 2',
      ]),
    );
  });

  test("leaves out a partner that is paused", async () => {
    const registry = new Registry();
    await createOldestDue({
      deliveries: { oldest: async () => stored(4_000), size: async () => ({ messages: 1, bytes: 0 }) },
      own: () => [{ ...partner, config: { ...partner.config, state: "Paused" } }],
      metrics: createPartnerMetrics(registry),
      figures: createPartnerFigures(),
      now: () => 10_000,
    })();
    const shown = await figures(registry);
    expect(shown).toContain("oldest_due_seconds 6");
    expect(shown.filter((line) => line.startsWith("partner_oldest_due_seconds"))).toEqual([]);
  });

  test("is the largest of all partners without a label of their own", async () => {
    const registry = new Registry();
    const metrics = createPartnerMetrics(registry);
    const others = async () => (await figures(registry)).filter((line) => line.includes('{partner="other"}'));
    for (let index = 0; index < 200; index += 1) metrics.oldestDue(`ns/${index}`, 0);
    metrics.oldestDue("ns/a", 7);
    metrics.oldestDue("ns/b", 3);
    expect(await others()).toEqual(['partner_oldest_due_seconds{partner="other"} 7']);
    metrics.oldestDue("ns/a", 0);
    expect(await others()).toEqual(['partner_oldest_due_seconds{partner="other"} 3']);
  });

  test.each([
    ["the stream is empty", 0, []],
    ["nothing of it is due", 5, ["first *", "retry *"]],
  ])("is nothing while %s, and then no partner is looked at", async (_, messages, looks) => {
    const registry = new Registry();
    const asked: string[] = [];
    const size = async () => ({ messages, bytes: 0 });
    const oldest = async (queue: string, token: string) => void asked.push(`${queue} ${token}`);
    const look = createOldestDue({
      deliveries: { oldest, size },
      own: () => partners,
      metrics: createPartnerMetrics(registry),
      figures: createPartnerFigures(),
      now: () => 10_000,
    });
    await look();
    await look();
    expect(asked).toEqual(looks);
    expect(await figures(registry)).toContain("oldest_due_seconds 0");
  });
});

describe("the backlog", () => {
  const [one = "", two = ""] = partners.map(({ key: token }) => token);
  const dueByPartner = async (lane: string) => new Map(lane === "shared" ? [[two, 2]] : []);
  const lookOf = (
    registry: Registry,
    messages: number,
    due: Readonly<Record<string, number>>,
    ownership: readonly string[],
    remembered = createPartnerFigures(),
    direct: Readonly<Record<string, number>> = {},
  ) =>
    createDueBacklog({
      deliveries: {
        waitingFor: async () => 0,
        size: async () => ({ messages, bytes: 0 }),
        dueByLane: async () => new Map(Object.entries(due)),
        dueByPartner,
      },
      partners: () => partners,
      isOwner: (lane) => ownership.includes(lane),
      direct: () => new Map(Object.entries(direct)),
      metrics: createPartnerMetrics(registry),
      figures: remembered,
    });

  test("is counted by partner for the lanes that the pod owns", async () => {
    const registry = new Registry();
    const remembered = createPartnerFigures();
    await lookOf(registry, 9, { [one]: 3, [two]: 5, shared: 2, [`${one}x`]: 7 }, [one, "shared"], remembered)();
    expect(partners.map((each) => remembered.of(each).backlog)).toEqual([3, undefined]);
    expect(await figures(registry)).toEqual(
      expect.arrayContaining([
        "backlog 5",
        'partner_backlog{partner="default/one"} 3',
        'partner_backlog{partner="default/two"} 2',
      ]),
    );
    expect((await figures(registry)).filter((line) => line.startsWith("partner_backlog"))).toHaveLength(2);
  });

  test.each([
    ["beside stored deliveries", 3, { [one]: 3 }, "backlog 5"],
    ["alone", 0, {}, "backlog 2"],
  ])("counts attempts straight from events, %s", async (_sentence, messages, due, expected) => {
    const registry = new Registry();
    await lookOf(registry, messages, due, [one], createPartnerFigures(), { [one]: 2 })();
    expect(await figures(registry)).toEqual(
      expect.arrayContaining([expected, `partner_${expected.replace(" ", '{partner="default/one"} ')}`]),
    );
  });

  test("is counted of a shared lane only in the sum while the lane holds too much", async () => {
    const registry = new Registry();
    await lookOf(registry, 20_000, { shared: 10_001 }, ["shared"])();
    const lines = await figures(registry);
    expect(lines).toContain("backlog 10001");
    expect(lines.filter((line) => line.startsWith("partner_backlog"))).toEqual([]);
  });

  test("of paused and held partners is everything that waits for them, in shared lanes too", async () => {
    const registry = new Registry();
    const remembered = createPartnerFigures();
    const [first, second] = partners;
    if (first === undefined || second === undefined) throw new Error("two partners");
    const paused = { ...first, config: { ...first.config, state: "Paused" as const } };
    const held = { ...second, lane: "shared", config: { ...second.config, held: "unresolved" as const } };
    await createDueBacklog({
      deliveries: {
        waitingFor: async (_lane, key) => (key === first.key ? 876 : 897),
        size: async () => ({ messages: 1_773, bytes: 0 }),
        dueByLane: async () => new Map([["shared", 2]]),
        dueByPartner,
      },
      partners: () => [paused, held],
      isOwner: () => true,
      direct: () => new Map(),
      metrics: createPartnerMetrics(registry),
      figures: remembered,
    })();
    expect([paused, held].map((each) => remembered.of(each).backlog)).toEqual([876, 897]);
    expect(await figures(registry)).toEqual(
      expect.arrayContaining([
        "backlog 1773",
        'partner_backlog{partner="default/one"} 876',
        'partner_backlog{partner="default/two"} 897',
      ]),
    );
  });

  test("is zero for an empty stream, without a request for consumers", async () => {
    const registry = new Registry();
    const metrics = createPartnerMetrics(registry);
    metrics.backlog(4, [["default/one", 4]]);
    const dueByLane = () => Promise.reject(new Error("a look"));
    const size = async () => ({ messages: 0, bytes: 0 });
    await createDueBacklog({
      deliveries: { size, dueByLane, dueByPartner, waitingFor: async () => 0 },
      partners: () => partners,
      direct: () => new Map(),
      isOwner: () => true,
      metrics,
      figures: createPartnerFigures(),
    })();
    expect(await figures(registry)).toContain("backlog 0");
    expect((await figures(registry)).filter((line) => line.startsWith("partner_backlog"))).toEqual([]);
  });
});

test("open breakers count once per partner, and those beyond the labels by their number", async () => {
  const registry = new Registry();
  const metrics = createPartnerMetrics(registry);
  metrics.paused("default/one", "failures");
  metrics.paused("default/one", "failures");
  metrics.paused("default/two", undefined);
  expect(await figures(registry)).toContain('partner_breaker_open{partner="default/one"} 1');
  metrics.paused("default/one", undefined);
  Array.from({ length: 203 }, (_, n) => `default/p${n}`).forEach((name) => metrics.paused(name, "failures"));
  const lines = await figures(registry);
  expect(lines).toEqual(
    expect.arrayContaining([
      'partner_breaker_open{partner="default/one"} 0',
      'partner_breaker_open{partner="other"} 4',
    ]),
  );
});

test("a partner is rate limited or its breaker is open, never both", async () => {
  const registry = new Registry();
  const metrics = createPartnerMetrics(registry);
  const lines = async (cause: "failures" | "rate_limited" | undefined) => {
    metrics.paused("default/one", cause);
    const open = (await figures(registry)).filter((line) => line.endsWith("} 1"));
    return open.map((line) => line.split("{")[0]);
  };
  expect(await lines("rate_limited")).toEqual(["partner_rate_limited"]);
  expect(await lines("failures")).toEqual(["partner_breaker_open"]);
  expect(await lines(undefined)).toEqual([]);
});
