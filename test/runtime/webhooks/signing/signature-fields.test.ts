import { describe, expect, test } from "vitest";
import {
  parseByteSequences,
  parseSignatureInputs,
  quoted,
} from "../../../../runtime/webhooks/signing/signature-fields.ts";

describe("Signature-Input", () => {
  test("is parsed into its members, their components and parameters", () => {
    const field = 'sig1=("@method" "x-a");created=1;keyid="a \\"b\\" \\\\c" ,\tsig-2=();nonce="n"';
    expect(parseSignatureInputs(field)).toEqual([
      {
        label: "sig1",
        components: ["@method", "x-a"],
        parameters: new Map<string, string | number>([
          ["created", 1],
          ["keyid", 'a "b" \\c'],
        ]),
        text: '("@method" "x-a");created=1;keyid="a \\"b\\" \\\\c"',
      },
      { label: "sig-2", components: [], parameters: new Map([["nonce", "n"]]), text: '();nonce="n"' },
    ]);
  });

  test.each([
    ["nothing", ""],
    ["a list without a label", '("@method")'],
    ["a label with a capital", 'Sig=("@method")'],
    ["a label twice", 'a=("x"), a=("y")'],
    ["a comma at the end", 'a=("x"),'],
    ["two members without a comma", 'a=("x") b=("y")'],
    ["a component with parameters", 'a=("x";sf)'],
    ["a token for a component", "a=(x)"],
    ["a string that does not end", 'a=("x)'],
    ["a number that is no integer", 'a=("x");created=1.5'],
    ["more than anybody sends", `a=("${"x".repeat(8_192)}")`],
  ])("of %s is malformed", (_, field) => {
    expect(parseSignatureInputs(field)).toBeUndefined();
  });
});

describe("byte sequences", () => {
  test("are parsed by label", () => {
    expect(parseByteSequences("a=:AQI=:, b=:Aw==:")).toEqual(
      new Map([
        ["a", Buffer.from([1, 2])],
        ["b", Buffer.from([3])],
      ]),
    );
  });

  test.each(["", "a=AQI=", "a=:AQI", "a=:A*==:", "a=:AQ==:,", "a=:AQ==:,a=:AQ==:"])("are malformed in %j", (field) => {
    expect(parseByteSequences(field)).toBeUndefined();
  });
});

test("blanks of a malformed field are read once", () => {
  const start = process.cpuUsage();
  for (const field of [`a=(${" ".repeat(8_000)}x`, `a=("b"${" ".repeat(8_000)}x`, `a=()${" ".repeat(8_000)}x`]) {
    for (let round = 0; round < 100; round += 1) expect(parseSignatureInputs(field)).toBeUndefined();
  }
  // Quadratic time takes several seconds.
  expect(process.cpuUsage(start).user / 1000).toBeLessThan(1_000);
});

test("a quoted string is parsed to the same text", () => {
  expect(quoted('a"b\\c')).toBe('"a\\"b\\\\c"');
});
