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

  test("has no known component with parameters, and no time or id of another type", () => {
    const field =
      'a=("@path";req "x";key="y"), b=("@path");created=1.5;expires=?1;keyid=token;flag;tag=:AQ==:;nonce=")"';
    const [one, other] = parseSignatureInputs(field) ?? [];
    expect(one?.components).toEqual(["@path", "x", "y", ";"]);
    expect(other?.components).toEqual(["@path"]);
    expect(Object.fromEntries(other?.parameters ?? [])).toEqual({
      created: "=1.5",
      expires: "=?1",
      keyid: "=token",
      flag: "=",
      tag: "=:AQ==:",
      nonce: ")",
    });
  });

  test.each([
    ["nothing", ""],
    ["a list without a label", '("@method")'],
    ["a label with a capital", 'Sig=("@method")'],
    ["a label twice", 'a=("x"), a=("y")'],
    ["a comma at the end", 'a=("x"),'],
    ["two members without a comma", 'a=("x") b=("y")'],
    ["a token for a component", "a=(x)"],
    ["a string that does not end", 'a=("x)'],
    ["a parameter without a name", 'a=("x");=1'],
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

test("blanks and parameters of a malformed field are read once", () => {
  const start = process.cpuUsage();
  const blanks = [`a=(${" ".repeat(8_000)}x`, `a=("b"${" ".repeat(8_000)}x`, `a=()${" ".repeat(8_000)}x`];
  const parameters = [`a=("b"${";c".repeat(4_000)}`, `a=("b"${";c=d".repeat(2_000)}`, `a=()${";c=:".repeat(2_000)}`];
  for (const field of [...blanks, ...parameters])
    for (let round = 0; round < 100; round += 1) expect(parseSignatureInputs(field)).toBeUndefined();
  // Quadratic time takes several seconds.
  expect(process.cpuUsage(start).user / 1000).toBeLessThan(1_000);
});

test("a quoted string is parsed to the same text", () => {
  expect(quoted('a"b\\c')).toBe('"a\\"b\\\\c"');
});
