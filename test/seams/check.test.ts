import { expect, test } from "vitest";
import { pairOf, type ReportedRouting } from "./check.ts";
import { configurationsOf } from "./histories.ts";
import { PartnerTimeline, type Desired, type Expectation, type RoutedPartners } from "./model.ts";
import { mayRouteAgain } from "./watch-routing.ts";

const wanting: Desired["subscription"] = { types: ["payout.*"], tenants: ["lumen"] };
const other: Desired["subscription"] = { types: ["login.*"], tenants: ["lumen"] };
const event = { id: "e", tenant: "lumen", type: "payout.created", sentMs: 300, tries: 1 };

/** Partners of a configuration in which the partner has this subscription, or is missing. */
function configured(subscription?: Desired["subscription"]): RoutedPartners {
  const seen = { generation: 1, keys: [], isPlain: true };
  return new Map(subscription === undefined ? [] : [["uid", { ...seen, subscription }]]);
}

/** A partner that is in force since 100, and whose edit at 200 is still under way. */
function edited(): PartnerTimeline {
  const desired = { exists: true, granted: ["lumen"], isReadable: true, generation: 1, keys: [] };
  const timeline = new PartnerTimeline("uid", "pay/acme");
  timeline.began(0, { ...desired, subscription: wanting });
  timeline.observed(100, configured(wanting).get("uid"));
  timeline.began(200, { ...desired, subscription: other, generation: 2 });
  return timeline;
}

const reported: ReportedRouting = { partners: [], fields: [], delivered: new Set(), mayRepeat: false };
const delivered = new Set(["pay/acme"]);

test.each<[what: string, reported: ReportedRouting | undefined, Expectation]>([
  ["without a report", undefined, "either"],
  ["routed by the configuration before the edit", { ...reported, partners: [configured(wanting)] }, "must"],
  ["routed by the configuration after the edit", { ...reported, partners: [configured(other)] }, "must_not"],
  ["routed by a configuration without the partner", { ...reported, partners: [configured()] }, "must_not"],
  ["routed by an unknown configuration", { ...reported, partners: [undefined, configured(wanting)] }, "either"],
  ["routed by both", { ...reported, partners: [configured(wanting), configured(other)] }, "either"],
  [
    "whose first routing may have left no trace",
    { ...reported, partners: [configured(wanting)], mayRepeat: true },
    "either",
  ],
  [
    "that was routed twice and has a delivery",
    { ...reported, partners: [configured(wanting)], delivered, mayRepeat: true },
    "must",
  ],
])("during an edit, an event %s is decided so", (_what, report, expectation) => {
  expect(pairOf({ event, fromMs: 300, toMs: 400 }, 0, [edited()], report)).toMatchObject({
    expectation,
    mayExist: true,
  });
});

test("what the contract decides is not decided again", () => {
  const report = { ...reported, partners: [configured(other)] };
  expect(pairOf({ event, fromMs: 110, toMs: 190 }, 0, [edited()], report).expectation).toBe("must");
  expect(pairOf({ event, fromMs: -9, toMs: -1 }, 0, [edited()], report).mayExist).toBe(false);
});

test("the configurations of an event are those of its deliveries and of its note, once each", () => {
  const entry = (configuration?: string) => ({
    partner: "pay/acme",
    state: "delivered",
    reason: null,
    next_attempt_at: null,
    routed_by: configuration === undefined ? null : { configuration },
  });
  const deliveries = [entry("0a"), entry(), entry("0b"), entry("0a")];
  expect(configurationsOf({ routed_by: { configuration: "0c" }, deliveries })).toEqual(["0c", "0a", "0b"]);
  expect(configurationsOf({ deliveries: [entry()] })).toEqual([]);
});

test.each<[what: string, verb: string, diedMs: number, expected: boolean]>([
  ["a pod that dies meanwhile", "kill_pod", 1_500, true],
  ["NATS that dies just after it", "kill_nats", 2_400, true],
  ["a pod that dies long before it", "restart_pod", 400, false],
  ["an operator that dies meanwhile", "kill_operator", 1_500, false],
])("the routing of an event may be repeated after %s, or not", (_what, verb, diedMs, expected) => {
  expect(mayRouteAgain(1_000, 2_000, [{ verb, fromMs: diedMs, toMs: diedMs + 5_000 }])).toBe(expected);
});
