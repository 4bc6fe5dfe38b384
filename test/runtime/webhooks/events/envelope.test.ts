import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ApiError } from "../../../../runtime/errors/api-error.ts";
import {
  eventBytesMax,
  eventDepthMax,
  noTenant,
  parseEnvelope,
  type ValidEnvelope,
} from "../../../../runtime/webhooks/events/envelope.ts";
import { spliceAttempt } from "../../../../runtime/webhooks/signing/signed-request.ts";
import { personalDataRules } from "../../../../runtime/webhooks/events/personal-data.ts";

const rules = personalDataRules({ forbiddenFields: ["email"], allowedFields: [], allowedForTypes: [] });
const event = {
  event_id: "evt_1",
  type: "payout.processed",
  version: "2026-01-01",
  ts: "2026-01-02T03:04:05.678Z",
  data: { payout_id: "p-1", status: "ok", amount_minor: 1_000, currency: "EUR" },
};

function bytesOf(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

function parse(value: object | string | Uint8Array): ValidEnvelope {
  const bytes =
    value instanceof Uint8Array ? value : bytesOf(typeof value === "string" ? value : JSON.stringify(value));
  return parseEnvelope(bytes, rules);
}

/** Code of the refusal, and the invalid fields with their codes. */
function refusal(value: object | string | Uint8Array): readonly string[] {
  try {
    parse(value);
    return [];
  } catch (error) {
    if (error instanceof ApiError) return [error.code, ...error.errors.map(({ field, code }) => `${field}: ${code}`)];
    throw error;
  }
}

describe("an envelope", () => {
  test("of the seed's example is read (Webhook Event Delivery §2.1)", () => {
    const { envelope } = parse({ ...event, tenant: "brand-1", producer: "payments" });
    expect(envelope).toEqual({
      eventId: "evt_1",
      type: "payout.processed",
      version: "2026-01-01",
      ts: "2026-01-02T03:04:05.678Z",
      tenant: "brand-1",
      producer: "payments",
      data: event.data,
    });
  });

  test("needs neither producer nor tenant nor data", () => {
    const { data: _, ...bare } = event;
    expect(parse(bare).envelope).toEqual({
      eventId: "evt_1",
      type: "payout.processed",
      version: "2026-01-01",
      ts: "2026-01-02T03:04:05.678Z",
      tenant: noTenant,
    });
  });

  test("keeps its bytes, with spaces and unknown fields (Webhook Event Delivery §2.1, evolution)", () => {
    const text = ` { "sequence" : 7, ${JSON.stringify(event).slice(1, -1)}, "z": "ü\\u00fc" }\r\n`;
    expect(new TextDecoder().decode(parse(text).bytes)).toBe(text);
  });
});

describe("an envelope is refused", () => {
  const largest = eventBytesMax - JSON.stringify({ ...event, x: "" }).length;
  const withData = (data: string): string => JSON.stringify(event).replace(/"data":\{[^}]*\}/u, () => `"data":${data}`);
  const nested = (depth: number) => ({
    ...event,
    data: { a: JSON.parse("[".repeat(depth) + "]".repeat(depth)) as object },
  });

  test.each([
    ["with invalid UTF-8", Uint8Array.of(0x7b, 0xff, 0x7d), ["invalid_utf8"]],
    ["with a surrogate in UTF-8", Uint8Array.of(0x22, 0xed, 0xa0, 0x80, 0x22), ["invalid_utf8"]],
    ["with a byte order mark", `\ufeff${JSON.stringify(event)}`, ["invalid_json"]],
    ["when it is no JSON", "{", ["invalid_json"]],
    ["when it is empty", "", ["invalid_json"]],
    ["with more behind it", `${JSON.stringify(event)}{}`, ["invalid_json"]],
    ["when it is a list", "[]", ["invalid_envelope"]],
    ["when it is null", "null", ["invalid_envelope"]],
    ["when it is larger than 256 KiB", { ...event, x: "x".repeat(largest + 1) }, ["body_too_large"]],
    ["when nothing but brackets", "[".repeat(200_000), ["invalid_json"]],
    ["when it is nested too deep", nested(eventDepthMax - 1), ["invalid_envelope", "data: too_deep"]],
    [
      "with an attempt, which the sender numbers",
      { ...event, attempt: 1 },
      ["invalid_envelope", "attempt: not_allowed"],
    ],
    ["with a name twice", '{"type":"a.b",' + JSON.stringify(event).slice(1), ["invalid_envelope", "type: repeated"]],
    [
      "with a name twice in its data",
      JSON.stringify(event).replace('"status"', '"payout_id":"x","status"'),
      ["invalid_envelope", "data.payout_id: repeated"],
    ],
    ["with a number beyond every double", withData('{"n":1e400}'), ["invalid_envelope", "data.n: number_too_large"]],
    [
      "with an integer beyond every double",
      withData(`{"n":[1,-${"9".repeat(309)}]}`),
      ["invalid_envelope", "data.n[1]: number_too_large"],
    ],
    [
      "with half of a surrogate pair",
      withData(String.raw`{"t":"x\ud800y"}`),
      ["invalid_envelope", "data.t: lone_surrogate"],
    ],
    [
      "with the halves of a pair in the wrong order",
      withData(String.raw`{"t":"\udc00\ud800"}`),
      ["invalid_envelope", "data.t: lone_surrogate"],
    ],
    [
      "with half of a pair in a name",
      withData(String.raw`{"a\udfff":1}`),
      ["invalid_envelope", "data.a\ufffd: lone_surrogate"],
    ],
    ["with personal data", { ...event, data: { email: "x" } }, ["personal_data", "data.email: forbidden_field"]],
    [
      "with every problem named",
      { ts: 1, tenant: "", attempt: 2, data: [] },
      [
        "invalid_envelope",
        "event_id: required",
        "type: required",
        "version: required",
        "ts: invalid",
        "tenant: invalid",
        "data: invalid",
        "attempt: not_allowed",
      ],
    ],
  ] as readonly (readonly [string, object | string | Uint8Array, readonly string[]])[])(
    "%s (Webhook Event Delivery §2.1)",
    (_, value, expected) => {
      expect(refusal(value)).toEqual(expected);
    },
  );

  test("with a leap second, and the error says what to send instead", () => {
    const detail =
      "ts must be a UTC time with milliseconds and Z, like 2026-01-31T12:00:00.000Z; a leap second is sent as :59";
    expect(() => parse({ ...event, ts: "2016-12-31T23:59:60.000Z" })).toThrow(
      expect.objectContaining({ errors: [{ field: "ts", code: "invalid", detail }] }),
    );
  });

  test.each([
    "9007199254740993",
    "-18446744073709551616",
    "1.7976931348623157e308",
    "5e-324",
    "1e-400",
    "-0",
    "1E+2",
    "9".repeat(308),
    String.raw`"\ud83d\ude00\u0000\/"`,
    '"😀"',
  ])("for no value that every parser reads: %s", (literal) => {
    expect(refusal(withData(`{"v":${literal}}`))).toEqual([]);
  });

  test("at one byte more than the largest", () => {
    expect(refusal({ ...event, x: "x".repeat(largest) })).toEqual([]);
  });

  test("at one level more than the deepest", () => {
    expect(refusal(nested(eventDepthMax - 2))).toEqual([]);
  });

  test("with a bounded number of problems", () => {
    const twice = Array.from({ length: 100 }, (_, index) => `"f${index}":1,"f${index}":2`).join(",");
    expect(refusal(`{${twice}}`)).toHaveLength(21);
  });
});

describe("a field", () => {
  test.each([
    ["event_id", ["evt_1", "a", "!~/?#", "x".repeat(128)], ["", "a b", "a\n", "ü", "x".repeat(129), 1, null]],
    [
      "type",
      ["a.b", "payout.processed", "A_1-2.b.c"],
      ["", "payout", ".a", "a.", "a..b", "a.*", "a.>", "a b.c", "ä.b", `a.${"b".repeat(127)}`, 1],
    ],
    [
      "version",
      ["2026-01-01", "2028-02-29"],
      ["", "2026-1-1", "2026-02-30", "2026-13-01", "1", "2026-01-01T00:00:00.000Z", 20260101],
    ],
    [
      "ts",
      ["2026-01-02T03:04:05.678Z"],
      [
        "",
        "2026-01-02T03:04:05Z",
        "2026-01-02T03:04:05.67Z",
        "2026-01-02T03:04:05.678+00:00",
        "2026-02-30T00:00:00.000Z",
        "2026-01-02T24:00:00.000Z",
        "2026-01-02T03:04:60.000Z",
        1_767_323_046,
      ],
    ],
    [
      "producer",
      ["payments", "core payments", "a"],
      ["", " a", "a ", "a\u0000b", "a\r\nX: y", "ü", "x".repeat(129), null, 1],
    ],
    [
      "tenant",
      ["t", "brand_1", "9-a", "x".repeat(64)],
      ["", noTenant, "-a", "a.b", "a*", ">", "a b", "ü", "x".repeat(65), null, 1],
    ],
    ["data", [{}, { a: 1 }], [[], "x", null, 1, true]],
  ] as readonly (readonly [string, readonly unknown[], readonly unknown[]])[])(
    "%s takes what the seed and the subjects allow",
    (name, good, bad) => {
      expect(good.map((value) => refusal({ ...event, [name]: value }))).toEqual(good.map(() => []));
      const refused = [`invalid_envelope`, `${name}: invalid`];
      expect(bad.map((value) => refusal({ ...event, [name]: value }))).toEqual(bad.map(() => refused));
    },
  );
});

describe("splicing the attempt", () => {
  const splice = (text: string, attempt: number) => new TextDecoder().decode(spliceAttempt(bytesOf(text), attempt));

  test.each([
    ["a compact object", '{"a":1}', '{"a":1,"attempt":3}'],
    ["an empty object", "{}", '{"attempt":3}'],
    ["an empty object with spaces", " { \n } \r\n", ' { \n "attempt":3} \r\n'],
    ["spaces before the end", '{"a":{} \t}', '{"a":{} \t,"attempt":3}'],
    ["an empty object inside", '{"a":{}}', '{"a":{},"attempt":3}'],
  ])("keeps the rest of %s byte for byte", (_, text, expected) => {
    expect(splice(text, 3)).toBe(expected);
  });

  test("adds attempt to any object, and nothing else", () => {
    const space = fc.stringMatching(/^[ \t\r\n]{0,3}$/u);
    const anyObject = fc.dictionary(
      fc.string().filter((name) => name !== "attempt" && name !== "__proto__"),
      fc.jsonValue(),
    );
    fc.assert(
      fc.property(
        anyObject,
        fc.integer({ min: 1 }),
        fc.nat(2),
        space,
        space,
        (value, attempt, indent, before, after) => {
          const text = before + JSON.stringify(value, undefined, indent) + after;
          const spliced = splice(text, attempt);
          expect(JSON.parse(spliced)).toEqual({ ...(JSON.parse(text) as object), attempt });
          const member = `"attempt":${attempt}`;
          const at = spliced.lastIndexOf(member);
          const comma = spliced[at - 1] === "," ? 1 : 0;
          expect(spliced.slice(0, at - comma) + spliced.slice(at + member.length)).toBe(text);
        },
      ),
    );
  });

  test("is refused for bytes that are not an object", () => {
    expect(() => spliceAttempt(bytesOf("[]"), 1)).toThrow(TypeError);
  });
});

test.each([
  ["9007199254740992", false],
  ["9007199254740993", true],
  ["18446744073709551615", true],
  ["0.1234567890123456789", true],
  ["100000", false],
])("%s is a number that a double would round: %s", (number, expected) => {
  const text = JSON.stringify({ ...event, data: { id: 0 } }).replace('"id":0', `"id":${number}`);
  expect(parse(text).hasLongNumbers).toBe(expected);
});
