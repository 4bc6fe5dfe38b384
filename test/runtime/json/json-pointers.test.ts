import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { pointerTree, segmentsOf, valuesAt } from "../../../runtime/json/json-pointers.ts";

const read = (text: string, ...pointers: readonly string[]) =>
  Object.fromEntries(valuesAt(text, pointerTree(pointers)));

describe("values by JSON pointers", () => {
  test.each<[says: string, text: string, pointer: string, found: object | undefined]>([
    ["a string", '{"a":"b"}', "/a", { kind: "String", text: "b" }],
    ["all digits of a number", '{"a":9007199254740993.10}', "/a", { kind: "Number", text: "9007199254740993.10" }],
    ["a number at the end of a list", '{"a":[1,-2e5]}', "/a/1", { kind: "Number", text: "-2e5" }],
    ["true", '{"a": true }', "/a", { kind: "Boolean", text: "true" }],
    ["false", '{"a":false}', "/a", { kind: "Boolean", text: "false" }],
    ["null", '{"a":null,"b":1}', "/a", { kind: "Null", text: "null" }],
    ["an object", '{"a":{"b":1}}', "/a", { kind: "Object", text: "" }],
    ["a list", '{"a":[]}', "/a", { kind: "Array", text: "" }],
    ["escapes of a string", String.raw`{"a":"\u0070aid\n\"\\"}`, "/a", { kind: "String", text: 'paid\n"\\' }],
    ["escapes of a name", String.raw`{"\u0061b":1}`, "/ab", { kind: "Number", text: "1" }],
    ["a name with a slash and a tilde", '{"a/b":{"~1":1}}', "/a~1b/~01", { kind: "Number", text: "1" }],
    ["an empty name", '{"":{"":1}}', "//", { kind: "Number", text: "1" }],
    ["a name that is a number", '{"0":{"1":2}}', "/0/1", { kind: "Number", text: "2" }],
    ["a name of Object.prototype", '{"__proto__":1}', "/__proto__", { kind: "Number", text: "1" }],
    ["no name of Object.prototype", "{}", "/constructor", undefined],
    ["the last of repeated members", '{"a":{"b":1},"a":{"c":2}}', "/a/b", undefined],
    ["a member after nested brackets in strings", '{"x":{"y":"}]\\\\"},"a":1}', "/a", { kind: "Number", text: "1" }],
    ["no element beyond a list", '{"a":[1]}', "/a/1", undefined],
    ["no element after the last", '{"a":[1]}', "/a/-", undefined],
    ["no element by a number with zeros", '{"a":[1,2]}', "/a/01", undefined],
    ["nothing below a string", '{"a":"b"}', "/a/0", undefined],
    ["white space around everything", ' {\n"a" :\t[ 1 , {"b" : "c" } ] }\r\n', "/a/1/b", { kind: "String", text: "c" }],
    ["nothing in a text that ends early", '{"a":{"b":[', "/a/b/0", undefined],
    ["nothing in an empty text", "", "/a", undefined],
  ])("find %s", (_, text, pointer, found) => {
    expect(read(text, pointer)).toEqual(found === undefined ? {} : { [pointer]: found });
  });

  test("find several in one pass, also one inside of another", () => {
    expect(Object.keys(read('{"a":{"b":[1,2]},"c":3}', "/c", "/a", "/a/b/1", "/a/x"))).toEqual(["/a", "/a/b/1", "/c"]);
  });

  test("equal those of JSON.parse in any text", () => {
    const spaced = (text: string) => JSON.stringify(JSON.parse(text), null, 2);
    fc.assert(
      fc.property(fc.json({ maxDepth: 4 }), fc.boolean(), (text, isSpaced) => {
        const value: unknown = JSON.parse(text);
        const pointers = pointersOf(value);
        const found = valuesAt(isSpaced ? spaced(text) : text, pointerTree(pointers));
        for (const pointer of pointers) {
          const expected = segmentsOf(pointer).reduce((at, name) => (at as Record<string, unknown>)[name], value);
          expect(found.get(pointer)).toMatchObject(asFound(expected));
        }
      }),
    );
  });
});

/** The digits of numbers are compared above. */
function asFound(value: unknown): object {
  if (typeof value === "string") return { kind: "String", text: value };
  if (typeof value === "number") return { kind: "Number" };
  if (typeof value === "object" && value !== null) return { kind: Array.isArray(value) ? "Array" : "Object" };
  return { kind: value === null ? "Null" : "Boolean", text: String(value) };
}

function pointersOf(value: unknown): readonly string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) => {
    const own = `/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`;
    return [own, ...pointersOf(inner).map((pointer) => own + pointer)];
  });
}
