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
