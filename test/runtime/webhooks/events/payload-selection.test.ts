import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { PayloadConfig } from "../../../../crds/config.ts";
import { selectPayload, withClasses } from "../../../../runtime/webhooks/events/payload-selection.ts";
import {
  parsePayload,
  routedByText,
  sentBytes,
  withoutPayload,
} from "../../../../runtime/webhooks/records/event-record.ts";

const envelope = '"event_id":"e-1","type":"payout.processed","version":"2026-01-01","ts":"2026-01-01T00:00:00.000Z"';
const selected = (data: string, ...selection: readonly PayloadConfig[]): string =>
  Buffer.from(selectPayload(Buffer.from(data), selection)).toString();
const event = (data: string): string => `{${envelope},"tenant":"acme","data":${data}}`;

describe("the payload of an event", () => {
  test.each<[says: string, selection: PayloadConfig, before: string, after: string]>([
    ["without a member", { exclude: ["/data/b"] }, '{"a":1,"b":2,"c":3}', '{"a":1,"c":3}'],
    ["without its first member", { exclude: ["/data/a"] }, '{"a":1,"b":2}', '{"b":2}'],
    ["without its only member", { exclude: ["/data/a"] }, '{"a":1}', "{}"],
    ["without members inside", { exclude: ["/data/a/b", "/data/a/c"] }, '{"a":{"b":1,"c":2,"d":3}}', '{"a":{"d":3}}'],
    [
      "with all digits and escapes",
      { exclude: ["/data/x"] },
      String.raw`{"x":0,"n":9007199254740993.10,"s":"\u0041\/"}`,
      String.raw`{"n":9007199254740993.10,"s":"\u0041\/"}`,
    ],
    ["without a name with escapes", { exclude: ["/data/email"] }, String.raw`{"e\u006dail":"x","a":1}`, '{"a":1}'],
    [
      "without a name with a slash and a tilde",
      { exclude: ["/data/a~1b/~0"] },
      '{"a/b":{"~":1,"c":2}}',
      '{"a/b":{"c":2}}',
    ],
    ["without each of repeated members", { exclude: ["/data/a"] }, '{"a":1,"b":2,"a":3}', '{"b":2}'],
    ["with null for an element", { exclude: ["/data/l/0"] }, '{"l":["x","y"]}', '{"l":[null,"y"]}'],
    [
      "without a member of an element",
      { exclude: ["/data/l/1/x"] },
      '{"l":[{"x":1},{"x":2,"y":3}]}',
      '{"l":[{"x":1},{"y":3}]}',
    ],
    ["as it is without the excluded member", { exclude: ["/data/z"] }, '{ "a" : [ 1 , 2 ] }', '{ "a" : [ 1 , 2 ] }'],
    ["as it is if the path leads into a string", { exclude: ["/data/a/b"] }, '{"a":"b"}', '{"a":"b"}'],
    [
      "without white space of what was cut",
      { exclude: ["/data/a"] },
      '{ "a" : 1 ,\n "b" : { "c" : 2 } }',
      '{"b" : { "c" : 2 }}',
    ],
    [
      "without a member of every element",
      { exclude: ["/data/l/*/x", "/data/l/0/y"] },
      '{"l":[{"x":1,"y":2},{"x":3,"y":4},5]}',
      '{"l":[{},{"y":4},5]}',
    ],
    ["with null for every element", { exclude: ["/data/l/*"] }, '{"l":[{"x":1},2]}', '{"l":[null,null]}'],
    ["without a member whose name is a star", { exclude: ["/data/o/*"] }, '{"o":{"*":1,"a":2}}', '{"o":{"a":2}}'],
    [
      "with a member of every element only",
      { include: ["/data/l/*/x"] },
      '{"l":[{"x":1,"y":2},{"y":3},4]}',
      '{"l":[{"x":1},{},null]}',
    ],
    [
      "with included members only",
      { include: ["/data/a", "/data/c/d"] },
      '{"a":{"x":1},"b":2,"c":{"d":3,"e":4}}',
      '{"a":{"x":1},"c":{"d":3}}',
    ],
    ["without a string on the way to an included member", { include: ["/data/a/b"] }, '{"a":"secret","c":1}', "{}"],
    [
      "with null for elements that are not included",
      { include: ["/data/l/1"] },
      '{"l":["x","y","z"]}',
      '{"l":[null,"y",null]}',
    ],
    ["with an empty object if it lacks the included member", { include: ["/data/a"] }, '{"b":1}', "{}"],
  ])("is sent %s", (_, selection, before, after) => {
    expect(selected(event(before), selection)).toBe(event(after));
    expect(selected(event(after), selection)).toBe(event(after));
  });

  test("keeps the envelope and drops other members with include", () => {
    const text = `{"x":1,${envelope},"producer":"p","data":{"a":1},"y":{"z":2}}`;
    expect(selected(text, { include: ["/data/a"] })).toBe(`{${envelope},"producer":"p","data":{"a":1}}`);
    expect(selected(text, { include: ["/y"] })).toBe(`{${envelope},"producer":"p","y":{"z":2}}`);
    expect(selected(text, { exclude: ["/data", "/y/z"] })).toBe(`{"x":1,${envelope},"producer":"p","y":{}}`);
  });

  test("is the same object if nothing is cut", () => {
    const body = Buffer.from(event('{"a":1}'));
    expect(selectPayload(body, [])).toBe(body);
    expect(selectPayload(body, [{ exclude: ["/data/b"] }])).toBe(body);
  });

  test("has what all of several selections leave", () => {
    const both = [{ include: ["/data/a", "/data/b"] }, { exclude: ["/data/b"] }];
    expect(selected(event('{"a":1,"b":2,"c":3}'), ...both)).toBe(event('{"a":1}'));
  });

  test("never contains an excluded value, and is valid JSON, whatever the event", () => {
    const secret = "5ecre7";
    const tree = fc.letrec((tie) => ({
      value: fc.oneof(
        { maxDepth: 4 },
        fc.string(),
        fc.double({ noNaN: true, noDefaultInfinity: true }),
        fc.constant(null),
        fc.array(tie("value"), { maxLength: 3 }),
        fc.dictionary(fc.constantFrom("a", "b/", "~", "é", "0", ""), tie("value"), { maxKeys: 4 }),
      ),
    })).value;
    fc.assert(
      fc.property(
        fc.dictionary(fc.constantFrom("a", "b/", "0"), tree),
        fc.boolean(),
        fc.boolean(),
        (data, isSpaced, isAscii) => {
          const hidden = { ...data, a: { ...(data["a"] as object), x: { deep: [secret] } }, "c/~": secret };
          const written = JSON.stringify({ event_id: "e", data: hidden }, null, isSpaced ? 2 : 0);
          const text = isAscii ? written.replaceAll("a", String.raw`\u0061`) : written;
          const cut = selected(text, { exclude: ["/data/a/x", "/data/c~1~0"] });
          expect(cut).not.toContain(secret);
          const { x: _x, ...rest } = hidden.a as Record<string, unknown>;
          const { "c/~": _c, ...others } = hidden as Record<string, unknown>;
          expect(JSON.parse(cut)).toEqual(JSON.parse(JSON.stringify({ event_id: "e", data: { ...others, a: rest } })));
        },
      ),
    );
  });
});

test("classes of a type are excluded by their pointers into data", () => {
  const sensitive = [
    { pointer: "/owner/iban", class: "financial" },
    { pointer: "/lines/*/note", class: "personal" },
    { pointer: "/margin", class: "financial" },
  ];
  expect(withClasses([{ include: ["/data/a"], excludeClasses: ["financial", "none"] }], sensitive)).toEqual([
    { include: ["/data/a"] },
    { exclude: ["/data/owner/iban", "/data/margin"] },
  ]);
  expect(withClasses([{ excludeClasses: ["personal"] }], sensitive)).toEqual([{ exclude: ["/data/lines/*/note"] }]);
  expect(withClasses([{ excludeClasses: ["none"] }], sensitive)).toEqual([]);
});

describe("the stored form of a routing", () => {
  const payload = [{ exclude: ["/data/é;s=x", "/data/b"] }];

  test.each([
    ["c=00ff;g=3", routedByText("00ff", 3)],
    ["c=00ff", routedByText("00ff")],
  ])("is %s without a payload", (expected, text) => {
    expect(text).toBe(expected);
    expect(parsePayload(text)).toEqual([]);
  });

  test("contains the payload, which a later version may follow with more", () => {
    for (const text of [routedByText("00ff", 3, payload), routedByText(undefined, undefined, payload)]) {
      expect(parsePayload(text)).toEqual(payload);
      expect(parsePayload(`${text};z=1`)).toEqual(payload);
    }
    expect(withoutPayload(`${routedByText("00ff", 3, payload)};z=1`)).toBe("c=00ff;g=3;z=1");
    expect(withoutPayload(routedByText(undefined, undefined, payload))).toBe("");
  });

  test("gives the bytes that are sent", () => {
    const body = Buffer.from(event('{"a":1,"b":2}'));
    expect(sentBytes({ body }, "c=00ff;g=3")).toBe(body);
    expect(sentBytes({ body }, undefined)).toBe(body);
    expect(Buffer.from(sentBytes({ body }, routedByText("00ff", 3, payload))).toString()).toBe(event('{"a":1}'));
  });
});
