import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { indentJson, rawMember } from "../../console/events/raw-json.ts";

describe("the package of an event keeps", () => {
  const rows: readonly (readonly [title: string, raw: string])[] = [
    ["digits that JavaScript rounds", '{"amount":12345678901234567890.10}'],
    ["escapes and the order of members", String.raw`{"b":"\u00e9\/","a":1}`],
    ["brackets and quotes inside of strings", String.raw`{"a":"}\"]{","b":["[",{"c":"\\"}]}`],
    ["blanks between members", '{ "a" : [ 1 ,\n 2 ] }'],
  ];
  test.each(rows)("%s", (_title, raw) => {
    expect(rawMember(`{"event":${raw},"routed_at":null,"deliveries":[]}`, "event")).toBe(raw);
  });

  test("every value of every event", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.jsonValue(), (event, rest) => {
        const raw = JSON.stringify(event);
        expect(rawMember(`{"event":${raw},"rest":${JSON.stringify(rest)}}`, "event")).toBe(raw);
        expect(JSON.parse(indentJson(raw))).toEqual(JSON.parse(raw));
        expect(indentJson(raw)).toBe(JSON.stringify(event, undefined, 2));
      }),
    );
  });

  test("nothing of an answer in another form", () => {
    expect(rawMember('{"deliveries":[],"event":{}}', "event")).toBeUndefined();
    expect(rawMember('{"event":{"cut":', "event")).toBeUndefined();
  });
});

test("an indented package keeps its digits", () => {
  expect(indentJson('{"a":1.10,"b":[],"c":[1,{}]}')).toBe(
    '{\n  "a": 1.10,\n  "b": [],\n  "c": [\n    1,\n    {}\n  ]\n}',
  );
});
