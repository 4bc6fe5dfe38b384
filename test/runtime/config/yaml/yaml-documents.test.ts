import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readYaml } from "../../../../runtime/config/yaml/yaml-documents.ts";

const problemsOf = (text: string) =>
  readYaml("a.yaml", text).problems.map(({ line, message }) => `${line}: ${message}`);

describe("reading a YAML text", () => {
  test("gives every document that holds something", () => {
    const { documents, problems } = readYaml("a.yaml", "a: 1\n---\n# only a comment\n---\nb: [x]\n---\n");
    expect(documents.map(({ value }) => value)).toEqual([{ a: 1 }, { b: ["x"] }]);
    expect(problems).toEqual([]);
  });

  test("reads JSON as well", () => {
    expect(readYaml("a.json", '{"a": {"b": [1, 2]}}').documents.map(({ value }) => value)).toEqual([
      { a: { b: [1, 2] } },
    ]);
  });

  test("keeps the good documents beside a broken one", () => {
    const { documents, problems } = readYaml("a.yaml", "a: 1\n---\nb: [unclosed\n---\nc: 3\n");
    expect(documents.map(({ value }) => value)).toEqual([{ a: 1 }, { c: 3 }]);
    expect(problems.map(({ file, line, reason }) => ({ file, line, reason }))).toEqual([
      { file: "a.yaml", line: 4, reason: "InvalidYaml" },
    ]);
  });

  test("follows aliases that stay within the bounds", () => {
    const { documents } = readYaml("a.yaml", "a: &x {n: 1}\nb: *x\n");
    expect(documents[0]?.value).toEqual({ a: { n: 1 }, b: { n: 1 } });
  });

  test.each([
    ["a repeated key", "a: 1\nb: 2\na: 3\n", /^3: the key "a" is repeated$/u],
    ["a structured key", "a: 1\n? [x, y]\n: 2\n", /^2: a key must be a plain string$/u],
    ["an alias without its anchor", "a: *gone\n", /^1: .*gone/u],
    ["a tab as indentation", "a:\n\tb: 1\n", /^2: .*tab/iu],
  ])("refuses %s with its line", (_name, text, expected) => {
    expect(problemsOf(text)).toEqual([expect.stringMatching(expected)]);
  });
});

describe("bounds of a YAML text", () => {
  test("an alias bomb is refused before it is expanded", () => {
    const levels = Array.from({ length: 12 }, (_, level) => {
      const items = level === 0 ? '"x"' : `*l${level - 1}`;
      return `l${level}: &l${level} [${Array.from({ length: 10 }, () => items).join(", ")}]`;
    });
    expect(problemsOf(levels.join("\n"))).toEqual([expect.stringMatching(/more than 200000 values/u)]);
  });

  test.each([
    ["flow sequences", "[".repeat(50_000)],
    ["block sequences", "- ".repeat(50_000)],
    ["closed flow sequences", `${"[".repeat(100)}${"]".repeat(100)}`],
    ["maps", Array.from({ length: 100 }, (_, depth) => `${" ".repeat(depth)}a:`).join("\n")],
  ])("deeply nested %s are a problem, not a crash", (_name, text) => {
    expect(problemsOf(text)).toHaveLength(1);
  });

  test("a map of very many keys is not compared key by key", () => {
    const text = Array.from({ length: 45_000 }, (_, index) => `k${index}: 1`).join("\n");
    expect(readYaml("a.yaml", text).documents).toHaveLength(1);
  });

  test("too many documents are refused as a whole", () => {
    expect(problemsOf("a: 1\n---\n".repeat(5000))).toEqual(["1: more than 4096 documents"]);
  });

  test("no text makes the reader throw", () => {
    const pieces = [
      "a: ",
      "- ",
      "&x ",
      "*x ",
      "[",
      "]",
      "{",
      "}",
      "\n",
      "  ",
      "---\n",
      '"',
      "'",
      "!t ",
      "|\n",
      "#",
      "? ",
      "1",
    ];
    const fragment = fc.constantFrom(...pieces);
    fc.assert(
      fc.property(fc.array(fc.oneof(fragment, fc.string({ maxLength: 4 })), { maxLength: 30 }), (parts) => {
        const { documents, problems } = readYaml("a.yaml", parts.join(""));
        expect(documents.length + problems.length).toBeGreaterThanOrEqual(0);
        for (const document of documents) expect(document.lineOf("a.b[0].c")).toBeGreaterThanOrEqual(1);
      }),
      { numRuns: 2000 },
    );
  });
});

describe("the line of a field", () => {
  const text = [
    "# first line",
    "kind: Secret",
    "data:",
    "  tls.crt: eA==",
    "  tls.key: eQ==",
    "spec:",
    "  metrics:",
    "    - id: a",
    "      unit: s",
    "    - {id: b,",
    "       unit: s}",
  ].join("\n");
  const [document] = readYaml("a.yaml", text).documents;

  test.each([
    ["kind", 2],
    ["data", 3],
    ["data.tls.key", 5],
    ["spec.metrics[0].unit", 9],
    ["spec.metrics[1]", 10],
    ["spec.metrics[1].unit", 11],
    ["spec.metrics[1].absent", 10],
    ["spec.absent.deeper", 6],
    ["", 2],
  ])("%s", (field, line) => {
    expect(document?.lineOf(field)).toBe(line);
  });

  test("is counted in the whole file, past earlier documents", () => {
    expect(readYaml("a.yaml", "a: 1\n---\nb:\n  c: 2\n").documents[1]?.lineOf("b.c")).toBe(4);
  });

  test("is found through an alias, where the value stands", () => {
    expect(readYaml("a.yaml", "a: &x\n  n: 1\nb: *x\n").documents[0]?.lineOf("b.n")).toBe(2);
  });
});
