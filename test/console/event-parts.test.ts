import { createHash } from "node:crypto";
import * as fc from "fast-check";
import type { DeliverySummary, EventSummary } from "../../api/histories.ts";
import type { PartnerSummary } from "../../api/partners.ts";
import { describe, expect, test } from "vitest";
import { absenceText } from "../../console/events/explanation.tsx";
import { unsentReasons } from "../../api/histories.ts";
import { countAttempts, failureCause, isUnsent } from "../../console/events/failure-cause.ts";
import { countStates, failuresFirst, resultText } from "../../console/events/failures-first.ts";
import { chipsOf, deliveryPath, fitting } from "../../console/events/event-table.tsx";
import { knownValues } from "../../console/events/use-known-values.ts";
import { numberedEvent, sentBody } from "../../console/events/use-raw-event.ts";
import { spliceAttempt } from "../../runtime/webhooks/signing/signed-request.ts";

function deliveryTo(
  partner: string,
  state: DeliverySummary["state"],
  more: Partial<DeliverySummary> = {},
): DeliverySummary {
  return { partner, state, reason: null, status: 200, attempts: 1, waiting: null, ...more };
}

const deliveries = [
  deliveryTo("a", "delivered"),
  deliveryTo("b", "in_delivery"),
  deliveryTo("c", "dead"),
  deliveryTo("d", "delivered"),
  deliveryTo("e", "held"),
  deliveryTo("f", "rejected"),
  deliveryTo("g", "not_routed"),
];

describe("deliveries of an event", () => {
  test("are failures first, then what waits, then what is done", () => {
    expect(failuresFirst(deliveries).map(({ partner }) => partner)).toEqual(["c", "f", "e", "b", "g", "a", "d"]);
    expect(failuresFirst(deliveries, "d")[0]?.partner).toBe("d");
  });

  test("are counted by state in the same order", () => {
    expect(countStates(deliveries)).toEqual([
      ["dead", 1],
      ["rejected", 1],
      ["held", 1],
      ["in_delivery", 1],
      ["not_routed", 1],
      ["delivered", 2],
    ]);
    expect(countStates([])).toEqual([]);
  });

  test("have the state of a partner that keeps them waiting", () => {
    const waits = (kind: "paused" | "keyless" | "retry") =>
      deliveryTo(kind, "in_delivery", { waiting: { kind, reason: null, since: null, until: null } });
    expect(countStates([waits("paused"), waits("keyless"), waits("retry"), deliveryTo("z", "held")])).toEqual([
      ["held", 2],
      ["paused", 1],
      ["in_delivery", 1],
    ]);
  });

  test("are counted with the partner of the filter first", () => {
    expect(chipsOf(deliveries, "a")[0]).toEqual(["delivered", 1]);
    expect(chipsOf(deliveries, "a").at(-1)).toEqual(["delivered", 1]);
    expect(chipsOf(deliveries, "")).toEqual(countStates(deliveries));
  });

  test("are counted in a line by their first states, and the others are a number", () => {
    const { shown, others } = fitting([
      ["dead", 1],
      ["circuit_open", 1],
      ["in_delivery", 12],
      ["delivered", 3],
    ]);
    expect(shown.map(({ label }) => label)).toEqual(["1 dead", "1 circuit open"]);
    expect(others).toBe(15);
    const three = fitting([
      ["dead", 1],
      ["held", 2],
      ["circuit_open", 3],
      ["in_delivery", 6],
    ]);
    expect(three.shown.map(({ label }) => label)).toEqual(["1 dead", "2 held"]);
    expect(three.others).toBe(9);
  });

  const paused = { kind: "paused", reason: null, since: null, until: null } as const;
  const held = { ...paused, kind: "held", reason: "unresolved: SecretKeyMissing: shop/acme" } as const;
  test.each<readonly [string, Partial<DeliverySummary>, string]>([
    ["a success", {}, "HTTP 200"],
    ["a status with its own reason", { status: 503, reason: "status_503", attempts: 4 }, "HTTP 503, 4 attempts"],
    ["a failure without a response", { status: null, reason: "connect_timeout" }, "connect timeout"],
    ["one that waits", { status: null, attempts: 0, waiting: paused }, "The partner is paused"],
    [
      "one that is held, with its reason once",
      { state: "held", status: null, attempts: 0, reason: "unresolved", waiting: held },
      "The partner is held: the Secret shop/acme lacks the key that the partner names",
    ],
  ])("state the result of %s", (_, more, text) => {
    expect(resultText({ ...deliveryTo("a", "in_delivery"), ...more })).toBe(text);
  });

  test("have addresses that encode their names", () => {
    expect(deliveryPath("e/1?x", "default/acme")).toBe("/events/e%2F1%3Fx?open=default%2Facme");
  });
});

test("filters offer what exists, sorted and once", () => {
  const partner = (name: string, types: readonly string[]) =>
    ({ partner: name, subscriptions: [{ types }] }) as unknown as PartnerSummary;
  const row = {
    type: "card.settled",
    deliveries: [deliveryTo("default/gone", "dead", { status: 503, reason: "status_503" })],
  } as unknown as EventSummary;
  const offered = {
    partners: [partner("default/b", ["payout.*"]), partner("default/a", ["payout.*"])],
    reasons: ["dns"],
  };
  expect(knownValues(offered, [row, row])).toEqual({
    partner: ["default/a", "default/b", "default/gone"],
    type: ["card.settled", "payout.*"],
    status: ["none", "2xx", "4xx", "5xx", "503"],
    reason: ["dns", "status_503"],
  });
});

test("the body of an attempt has the bytes that were signed", () => {
  const white = fc.constantFrom("", " ", "\n", "\r\n\t");
  const text = fc.tuple(fc.dictionary(fc.string(), fc.jsonValue()), white, white).map(([value, inner, after]) => {
    const json = JSON.stringify(value);
    return `${json.slice(0, -1)}${inner}}${after}`;
  });
  fc.assert(
    fc.property(text, fc.integer({ min: 1, max: 9_999 }), (event, attempt) => {
      expect(numberedEvent(event, attempt)).toBe(Buffer.from(spliceAttempt(Buffer.from(event), attempt)).toString());
    }),
  );
});

describe("the body of an attempt", () => {
  const event = '{"event_id":"e-1"}';
  const sent = '{"event_id":"e-1","attempt":2}';
  const digestOf = (text: string) => createHash("sha256").update(text).digest("hex");

  test.each([
    ["that is the event", { body: undefined, digest: digestOf(sent) }, { state: "signed", text: sent }],
    ["in another format", { body: "{}", digest: digestOf("{}") }, { state: "signed", text: "{}" }],
    ["that is not the event is not shown", { body: undefined, digest: digestOf("{}") }, { state: "different" }],
    ["that has another digest is not shown", { body: "{}", digest: digestOf(sent) }, { state: "different" }],
    ["without a digest is not shown", { body: undefined, digest: undefined }, { state: "unknown" }],
  ])("%s", async (_, shown, expected) => {
    expect(await sentBody({ ...shown, isEvent: true }, 2, event)).toEqual(expected);
  });
});

describe("why an attempt failed", () => {
  test.each([
    ["tls", "pay.example: DEPTH_ZERO_SELF_SIGNED_CERT", /^The TLS handshake failed: the certificate is self-signed/u],
    ["tls", "pay.example: DEPTH_ZERO_SELF_SIGNED_CERT", "(pay.example: DEPTH_ZERO_SELF_SIGNED_CERT)."],
    ["tls", "the TLS handshake failed: CERT_HAS_EXPIRED", "the certificate has expired (CERT_HAS_EXPIRED)."],
    ["connect", "connect ECONNREFUSED 192.0.2.1:443", "the port is closed (connect ECONNREFUSED 192.0.2.1:443)."],
    ["first_byte_timeout", "the time of the attempt is over", /^The response did not start in time\.$/u],
    ["of_a_later_version", "the detail", "the detail"],
  ])("%s: %s", (reason, detail, expected) => {
    expect(failureCause({ reason, detail })).toMatch(expected);
  });

  test.each([
    ["tls", true],
    ["connect_timeout", true],
    ["first_byte_timeout", false],
    ["reset", false],
  ])("%s says whether the request was sent", (reason, expected) => {
    expect(isUnsent({ error: { reason, detail: "" } })).toBe(expected);
  });
});

describe("the reason why a partner has no delivery", () => {
  const absent = { partner: "a", routed: false, state: null, subscription: null, matcher: null };
  const matcher = { operator: "Equal", pointer: "/data/status", found: "string", value: "failed" };

  test.each([
    [{ reason: "tenant" }, "Subscriptions to this type do not include the tenant."],
    [{ reason: "not_applied", state: "Invalid" }, "The definition of the partner is rejected: Invalid."],
    [{ reason: "matcher", matcher }, "The matcher Equal on /data/status is not met. Found: string failed."],
    [{ reason: "matcher", matcher: { ...matcher, found: "hidden", value: null } }, /Found: hidden\.$/u],
    [{ reason: "of_a_later_version" }, "of a later version"],
  ])("%j", (change, text) => {
    expect(absenceText({ ...absent, ...change })).toMatch(text);
  });
});

test("records of ends without a request are no attempts, as in the API", () => {
  const records = [...unsentReasons, "tls"].map((reason) => ({ error: { reason, detail: "" } }));
  expect(countAttempts([{ error: null }, ...records])).toBe(2);
});
