import { type Environment, type Flag, type Given, UsageError } from "../command-line/flags.ts";
import { escaped, hasControls, paint, plain, type Tone } from "../command-line/terminal.ts";

const formats = ["table", "wide", "json", "yaml"] as const;
export type OutputFormat = (typeof formats)[number];

/** Its variable differs from that of the file of `debug bundle`. */
export const outputFlag: Flag = {
  name: "output",
  short: "o",
  variable: "HELIOGRAPH_FORMAT",
  value: "FORMAT",
  help: "Output format: table, wide, json (as the server sends it; lists have one item per line) or yaml.",
  standard: "table",
};

/** @throws UsageError */
export function outputFormatOf(given: Given): OutputFormat {
  const text = given.text("output");
  const format = formats.find((one) => one === text);
  if (format !== undefined) return format;
  throw new UsageError(`--output must be one of ${formats.join(", ")}, not ${text}.`);
}

/** A column of a table. */
export interface Column<Row> {
  readonly title: string;
  readonly cell: (row: Row) => string | number | null | undefined;
  /** True for a column that only `-o wide` shows. */
  readonly isWide?: boolean;
  /** Colour of a cell in a terminal. */
  readonly tone?: (row: Row) => Tone | undefined;
}

type Pages<Row> = AsyncIterable<readonly Row[]> | Iterable<readonly Row[]>;

/** Prints results of commands to the standard output. */
export interface Output {
  /**
   * Prints a list while its pages arrive. A page sets the widths of its own rows and of later ones.
   * @returns the number of rows
   */
  list<Row>(columns: readonly Column<Row>[], pages: Pages<Row>): Promise<number>;
  /**
   * Prints one result. @param body the response as the server sent it, or an object @param text its form for people
   * @returns false when the reader of the output is gone
   */
  one<Body extends object>(body: Uint8Array | Body, text: (body: Body) => string): Promise<boolean>;
  /** The rows as lines of a table. */
  table<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): string;
}

type Stream = Pick<NodeJS.WriteStream, "write" | "isTTY">;

export function createOutput(format: OutputFormat, environment: Environment, stream: Stream = process.stdout): Output {
  const hasColours = stream.isTTY && (environment["NO_COLOR"] ?? "") === "";
  const shown = <Row>(columns: readonly Column<Row>[]) => columns.filter((one) => format === "wide" || !one.isWide);
  // A file gets the very bytes; a terminal would obey some of them.
  const safe = stream.isTTY ? escaped : (text: string) => text;
  const encode = async (item: unknown) =>
    safe(format === "json" ? `${JSON.stringify(item)}\n` : await yamlDocument(item, stream.isTTY));
  return {
    list: async (columns, pages) => {
      const table = new Table(shown(columns), hasColours);
      let count = 0;
      for await (const rows of pages) {
        count += rows.length;
        const isTable = format === "table" || format === "wide";
        const text = isTable ? table.next(rows) : (await Promise.all(rows.map(encode))).join("");
        if (!(await write(stream, text))) break;
      }
      return count;
    },
    one: async <Body extends object>(body: Uint8Array | Body, text: (body: Body) => string) => {
      if (format === "json") return write(stream, safe(`${textOf(body)}\n`));
      if (format === "yaml") return write(stream, await encode(JSON.parse(textOf(body))));
      const value = body instanceof Uint8Array ? (JSON.parse(textOf(body)) as Body) : body;
      return write(stream, `${text(value).trimEnd()}\n`);
    },
    table: (columns, rows) => new Table(shown(columns), hasColours).next(rows),
  };
}

function textOf(body: Uint8Array | object): string {
  return (body instanceof Uint8Array ? Buffer.from(body).toString() : JSON.stringify(body)).trimEnd();
}

/** @param isQuoted true to double-quote strings with control characters, where YAML has escapes */
async function yamlDocument(item: unknown, isQuoted: boolean): Promise<string> {
  const { Document, Scalar, visit } = await import("yaml");
  const document = new Document(item);
  if (isQuoted) {
    visit(document, {
      Scalar: (_key, node) => {
        if (typeof node.value === "string" && hasControls(node.value.replaceAll("\n", "")))
          node.type = Scalar.QUOTE_DOUBLE;
      },
    });
  }
  return `---\n${document.toString()}`;
}

/** @returns false when the reader of the stream is gone */
async function write(stream: Stream, text: string): Promise<boolean> {
  if (text === "") return true;
  return new Promise((resolve) => {
    stream.write(text, (error) => resolve(error === undefined || error === null));
  });
}

const gap = "   ";

class Table<Row> {
  readonly #columns: readonly Column<Row>[];
  readonly #hasColours: boolean;
  #widths: readonly number[];
  #isBegun = false;

  constructor(columns: readonly Column<Row>[], hasColours: boolean) {
    this.#columns = columns;
    this.#hasColours = hasColours;
    this.#widths = columns.map(({ title }) => title.length);
  }

  /** Lines of more rows; the first ones with the titles. */
  next(rows: readonly Row[]): string {
    if (rows.length === 0) return "";
    const cells = rows.map((row) => this.#columns.map(({ cell }) => cellText(cell(row))));
    this.#widths = this.#widths.map((width, at) => Math.max(width, ...cells.map((line) => line[at]?.length ?? 0)));
    const lines = rows.map((row, index) =>
      this.#line(
        cells[index] ?? [],
        this.#columns.map(({ tone }) => tone?.(row)),
      ),
    );
    if (!this.#isBegun) lines.unshift(this.#line(this.#columns.map(({ title }) => title)));
    this.#isBegun = true;
    return `${lines.join("\n")}\n`;
  }

  #line(cells: readonly string[], tones: readonly (Tone | undefined)[] = []): string {
    const parts = cells.map((text, at) => {
      const padded = at === cells.length - 1 ? text : text.padEnd(this.#widths[at] ?? 0);
      return this.#hasColours ? paint(padded, tones[at]) : padded;
    });
    return parts.join(gap).trimEnd();
  }
}

function cellText(value: string | number | null | undefined): string {
  return value === null || value === undefined || value === "" ? "-" : plain(String(value));
}
