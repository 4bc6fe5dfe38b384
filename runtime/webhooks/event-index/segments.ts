/** Rows of a segment. */
export const segmentRows = 65_536;

/** Columns in segments of equal length, so that old rows go without a copy of the others. A row keeps its id. */
export interface Segments<Columns> {
  /** Id of the oldest row that is kept. */
  readonly first: number;
  /** Id of the next row. */
  readonly end: number;
  /** Makes a new row. Its members are those of no row. */
  add(): { readonly columns: Columns; readonly at: number; readonly id: number };
  /** The place of a row; undefined when it is gone or not there yet. */
  find(id: number): { readonly columns: Columns; readonly at: number } | undefined;
  /** Oldest first. */
  readonly list: readonly Columns[];
}

/** The number of a text that is not known, because there are too many. A search takes it for every text. */
export const anyText = 0;

/** Numbers for the texts of one column, from 1. */
interface TextNumbers {
  /** The number of a text, a new one if need be; {@link anyText} beyond the bound. */
  add(text: string): number;
  /** The number of a text; undefined when no row has it. */
  find(text: string): number | undefined;
  /** The text of a number; undefined for {@link anyText}. */
  text(number: number): string | undefined;
  /** Whether every text has a number. */
  readonly isWhole: boolean;
  /** Creates a test of numbers that calls `isWanted` once for each text. {@link anyText} passes. */
  matcher(isWanted: (text: string) => boolean): (number: number) => boolean;
}

/** So that a number takes two bytes. */
const textsMax = 65_535;

/**
 * @param create makes the columns of one segment
 * @param rowsMax above it the oldest segment goes; counted in whole segments, one at least
 */
export function createSegments<Columns>(create: () => Columns, rowsMax: number): Segments<Columns> {
  const segmentsMax = Math.max(1, Math.ceil(rowsMax / segmentRows));
  const list: Columns[] = [];
  /** Segments that are gone. */
  let gone = 0;
  let end = 0;
  return {
    get first() {
      return gone * segmentRows;
    },
    get end() {
      return end;
    },
    add: () => {
      const at = end % segmentRows;
      if (at === 0) {
        list.push(create());
        if (list.length > segmentsMax) {
          list.shift();
          gone += 1;
        }
      }
      const columns = list.at(-1) as Columns;
      const id = end;
      end += 1;
      return { columns, at, id };
    },
    find: (id) => {
      const columns = id < 0 || id >= end ? undefined : list[Math.floor(id / segmentRows) - gone];
      return columns === undefined ? undefined : { columns, at: id % segmentRows };
    },
    list,
  };
}

/** The value of a row; 0 for a place that no segment has. */
export function valueAt(column: ArrayLike<number>, at: number): number {
  return column[at] ?? 0;
}

/** @param max bound on the texts; 65,535 at most, which is the default */
export function createTextNumbers(max: number = textsMax): TextNumbers {
  const numbers = new Map<string, number>();
  const texts: string[] = [];
  let isWhole = true;
  return {
    add: (text) => {
      const known = numbers.get(text);
      if (known !== undefined) return known;
      if (texts.length >= max) {
        isWhole = false;
        return anyText;
      }
      texts.push(text);
      numbers.set(text, texts.length);
      return texts.length;
    },
    find: (text) => numbers.get(text),
    text: (number) => texts[number - 1],
    get isWhole() {
      return isWhole;
    },
    matcher: (isWanted) => {
      const results = new Uint8Array(texts.length + 1);
      return (number) => {
        const known = results[number] ?? 0;
        if (known !== 0) return known === 1;
        const text = texts[number - 1];
        const result = text === undefined || isWanted(text);
        results[number] = result ? 1 : 2;
        return result;
      };
    },
  };
}
