import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { createOutput, type Column, type OutputFormat } from "../../../cli/api/output.ts";
import { createProgress, progressBar } from "../../../cli/command-line/terminal.ts";

interface Item {
  readonly id: string;
  readonly state: string | null;
}

const columns: readonly Column<Item>[] = [
  { title: "ID", cell: ({ id }) => id },
  { title: "WIDE", cell: () => "w", isWide: true },
  { title: "STATE", cell: ({ state }) => state, tone: ({ state }) => (state === "dead" ? "bad" : undefined) },
];
const items: readonly Item[] = [
  { id: "evt-1", state: "dead" },
  { id: "2", state: null },
];

/** A stream that keeps its text. */
function kept(isTTY = false, taken = Number.POSITIVE_INFINITY) {
  const texts: string[] = [];
  const write = (text: string, done?: (error?: Error | null) => void): boolean => {
    const isGone = texts.length >= taken;
    if (!isGone) texts.push(text);
    done?.(isGone ? new Error("EPIPE") : null);
    return true;
  };
  return { stream: { write, isTTY, columns: 12 } as unknown as NodeJS.WriteStream, text: () => texts.join("") };
}

async function* pages(): AsyncGenerator<readonly Item[]> {
  yield items;
  yield [{ id: "evt-3000", state: "ok" }];
}

async function printed(format: OutputFormat, isTTY = false, environment: Record<string, string> = {}): Promise<string> {
  const { stream, text } = kept(isTTY);
  expect(await createOutput(format, environment, stream).list(columns, pages())).toBe(3);
  return text();
}

describe("characters that control a terminal", () => {
  const text = "a\u0085\u202E\u{E0001}\u2028\u007Fb\nc";
  const item = { [text]: text, plain: "x\ny" };
  const one = async (format: OutputFormat, isTTY: boolean): Promise<string> => {
    const { stream, text: read } = kept(isTTY);
    await createOutput(format, {}, stream).one(Buffer.from(JSON.stringify(item)), () => "");
    return read();
  };

  test.each(["json", "yaml"] as const)("are escaped in %s on a terminal, with the same value", async (format) => {
    const shown = await one(format, true);
    expect(shown.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
    expect(parse(shown)).toEqual(item);
  });

  test("are escaped in the items of a list", async () => {
    const { stream, text: read } = kept(true);
    const list = async function* () {
      yield [{ id: text, state: null }];
    };
    await createOutput("json", {}, stream).list(columns, list());
    expect(read()).toBe(String.raw`{"id":"a\u0085\u202e\udb40\udc01\u2028\u007fb\nc","state":null}` + "\n");
  });

  test("reach a file as they are", async () => {
    expect(await one("json", false)).toBe(`${JSON.stringify(item)}\n`);
  });
});

describe("a list", () => {
  test("is a table whose columns are aligned, with `-` for nothing", async () => {
    expect(await printed("table")).toBe("ID      STATE\nevt-1   dead\n2       -\nevt-3000   ok\n");
  });

  test("has more columns when it is wide", async () => {
    expect(await printed("wide")).toContain("ID      WIDE   STATE\nevt-1   w      dead\n");
  });

  test("is one line of JSON per item, as the server has it", async () => {
    expect(await printed("json")).toBe(
      `${[...items, { id: "evt-3000", state: "ok" }].map((item) => JSON.stringify(item)).join("\n")}\n`,
    );
  });

  test("is one document of YAML per item", async () => {
    expect(await printed("yaml")).toContain("---\nid: evt-1\nstate: dead\n---\n");
  });

  test("has colours in a terminal only, and none with NO_COLOR", async () => {
    expect(await printed("table", true)).toContain("\u001B[31mdead\u001B[0m");
    expect(await printed("table", true, { NO_COLOR: "1" })).not.toContain("\u001B");
    expect(await printed("table")).not.toContain("\u001B");
  });

  test("ends when its reader is gone", async () => {
    const { stream, text } = kept(false, 1);
    await createOutput("json", {}, stream).list(columns, pages());
    expect(text().split("\n")).toHaveLength(3);
  });

  test("shows no control characters of the server in a table", async () => {
    const { stream, text } = kept();
    const rows = (async function* () {
      yield [{ id: "a\u001B[2Jb\nc", state: "\u202Ex" }];
    })();
    await createOutput("table", {}, stream).list(columns, rows);
    expect(text()).toBe("ID         STATE\na [2Jb c    x\n");
  });
});

describe("one result", () => {
  const one = async (format: OutputFormat): Promise<string> => {
    const { stream, text } = kept();
    await createOutput(format, {}, stream).one(Buffer.from('{"a":1.00}'), () => "for people");
    return text();
  };

  test("is the body of the response byte for byte", async () => {
    expect(await one("json")).toBe('{"a":1.00}\n');
  });

  test("is a text for people, or YAML", async () => {
    expect(await one("table")).toBe("for people\n");
    expect(await one("yaml")).toBe("---\na: 1\n");
  });
});

describe("progress", () => {
  test("is written anew in a terminal, within its width", () => {
    const { stream, text } = kept(true);
    const progress = createProgress(stream);
    progress.show("0123456789abcdef");
    progress.clear();
    expect(text()).toBe("\r\u001B[2K0123456789a\r\u001B[2K");
  });

  test("is silent elsewhere", () => {
    const { stream, text } = kept();
    createProgress(stream).show("x");
    expect(text()).toBe("");
  });

  test("has a bar", () => {
    expect(progressBar(0, 4)).toBe(`[>${" ".repeat(23)}] 0 of 4`);
    expect(progressBar(2, 4)).toBe(`[${"=".repeat(12)}>${" ".repeat(11)}] 2 of 4`);
    expect(progressBar(4, 4)).toBe(`[${"=".repeat(24)}] 4 of 4`);
    expect(progressBar(0, 0)).toContain("0 of 0");
  });
});
