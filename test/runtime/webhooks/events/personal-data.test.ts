import { describe, expect, test } from "vitest";
import { walkJson } from "../../../../runtime/json/json-walk.ts";
import {
  fieldPath,
  personalDataRules,
  searchPersonalData,
  type PersonalDataRules,
} from "../../../../runtime/webhooks/events/personal-data.ts";

const rules = personalDataRules({
  forbiddenFields: ["card_number", "email", "document-number"],
  allowedFields: ["reference", "items.serial"],
  allowedForTypes: [{ types: ["order.*"], fields: ["data.order_no", "data.lines.ref", "event_id"] }],
});
const card = "4111 1111 1111 1111";

function findPersonalData(
  text: string,
  own: PersonalDataRules,
  type = "payout.processed",
): ReturnType<typeof searchPersonalData>["findings"] {
  const search = searchPersonalData(own, type);
  walkJson(text, Number.POSITIVE_INFINITY, search);
  return search.findings;
}

function found(event: object, type?: string): readonly (readonly [field: string, code: string])[] {
  return findPersonalData(JSON.stringify(event), rules, type).map(({ field, code }) => [field, code]);
}

describe("personal data (Webhook Event Delivery §2.1)", () => {
  test.each([
    ["a name on the list", { data: { email: "x" } }, [["data.email", "forbidden_field"]]],
    ["a name in other case", { data: { EMail: "x" } }, [["data.EMail", "forbidden_field"]]],
    ["a name in camel case", { data: { cardNumber: "x" } }, [["data.cardNumber", "forbidden_field"]]],
    ["a name with other separators", { data: { Document_Number: 1 } }, [["data.Document_Number", "forbidden_field"]]],
    [
      "a name with spaces",
      { data: { "Card Number": "x", "e mail": "x" } },
      [
        ["data.Card Number", "forbidden_field"],
        ["data.e mail", "forbidden_field"],
      ],
    ],
    ["the event id", { event_id: "payout-4111111111111111" }, [["event_id", "card_number"]]],
    ["the producer", { producer: card }, [["producer", "card_number"]]],
    ["a name deep inside", { data: { a: [{ b: { "e-mail": null } }] } }, [["data.a[0].b.e-mail", "forbidden_field"]]],
    ["a card number in a text", { data: { note: `card ${card}` } }, [["data.note", "card_number"]]],
    ["a card number as an integer", { data: { n: 4111111111111111 } }, [["data.n", "card_number"]]],
    ["a card number in a list", { data: { list: ["a", card] } }, [["data.list[1]", "card_number"]]],
    ["a card number as a name", { data: { x: { [card]: 1 } } }, [["data.x.*", "card_number"]]],
    [
      "an unknown field of the envelope",
      { extra: { email: "x", n: card } },
      [
        ["extra.email", "forbidden_field"],
        ["extra.n", "card_number"],
      ],
    ],
    [
      "every field at fault",
      { data: { email: card } },
      [
        ["data.email", "forbidden_field"],
        ["data.email", "card_number"],
      ],
    ],
  ])("is found in %s", (_, event, expected) => {
    expect(found(event)).toEqual(expected);
  });

  test("is found in an integer with more digits than a double", () => {
    const text = '{"data":{"n":4111111111111111110}}';
    expect(findPersonalData(text, rules).map(({ field }) => field)).toEqual(["data.n"]);
  });

  test("is found in an integer in any notation", () => {
    const text =
      '{"data":{"a":4.111111111111111e15,"b":4111111111111111.0,"c":-4111111111111111,"d":0.4111111111111111}}';
    expect(findPersonalData(text, rules).map(({ field }) => field)).toEqual(["data.a", "data.b", "data.c"]);
  });

  test("is found in a value hidden by a repeated name", () => {
    const text = `{"data":{"a":"${card}","a":"x"}}`;
    expect(findPersonalData(text, rules).map(({ field }) => field)).toEqual(["data.a"]);
  });

  test.each([
    ["an ordinary event", { data: { payout_id: "p-1", status: "ok", amount_minor: 100, currency: "EUR" } }],
    ["an allowed field", { data: { reference: card } }],
    ["an allowed field of a list", { data: { items: [{ serial: card }, { serial: 4111111111111111 }] } }],
    ["a fraction", { data: { ratio: 0.4111111111111111 } }],
    [
      "the other fields of the envelope",
      { event_id: "payout-1001", ts: card, type: card, version: card, tenant: card },
    ],
    ["a name that only contains one of the list", { data: { email_verified: true } }],
  ])("is not seen in %s", (_, event) => {
    expect(found(event)).toEqual([]);
  });

  test.each([
    ["order.created", []],
    ["order.created.twice", ["event_id", "data.order_no", "data.lines[0].ref"]],
    ["payout.processed", ["event_id", "data.order_no", "data.lines[0].ref"]],
  ])("is excused by field and type: %s", (type, fields) => {
    const event = { event_id: "4111111111111111", data: { order_no: 4111111111111111, lines: [{ ref: card }] } };
    expect(found(event, type).map(([field]) => field)).toEqual(fields);
  });

  test("is refused with the setting that allows it, without the number", () => {
    const details = (event: object, type: string) =>
      findPersonalData(JSON.stringify(event), rules, type).map(({ detail }) => detail);
    expect(details({ data: { items: [{ no: card }] } }, "payout.done")).toEqual([
      "The value looks like a payment card number; if it never contains one, allow the field data.items.no for the " +
        "type payout.done in the settings (personalData.allowedForTypes)",
    ]);
    expect(details({ data: { no: card } }, "payout.4111111111111111")).toEqual([
      "The value looks like a payment card number",
    ]);
    expect(
      details({ data: { no: card, "4111": { "1111": { "1111": { "1111": card } } } } }, "a.b").at(-1),
    ).not.toContain("4111.1111");
  });

  test("is not allowed by a path outside of data", () => {
    expect(found({ extra: { reference: card } })).toEqual([["extra.reference", "card_number"]]);
  });

  test("with a forbidden name stays rejected under an allowed path", () => {
    const own = personalDataRules({ forbiddenFields: ["email"], allowedFields: ["email"], allowedForTypes: [] });
    expect(findPersonalData('{"data":{"email":"x"}}', own).map(({ code }) => code)).toEqual(["forbidden_field"]);
  });

  test("is reported without its value", () => {
    const findings = findPersonalData(JSON.stringify({ data: { [card]: { note: card, email: "a@b.c" } } }), rules);
    expect(findings.map(({ field }) => field)).toEqual(["data.*", "data.*.note", "data.*.email"]);
    expect(JSON.stringify(findings)).not.toMatch(/4111|a@b\.c/u);
  });

  test("is reported for a bounded number of fields", () => {
    const fields = Array.from({ length: 500 }, (_, index) => [`f${index}`, card]);
    expect(found({ data: Object.fromEntries(fields) as object })).toHaveLength(20);
  });
});

describe("a field's path", () => {
  test("shortens names", () => {
    expect(fieldPath(["data", "x".repeat(1_000)])).toBe(`data.${"x".repeat(64)}`);
  });
});
