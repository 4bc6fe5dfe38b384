/** Points of one series as a writer wrote them into a body, one after another. */
export interface WrittenPoints {
  readonly body: Uint8Array;
  /** Place of the first byte in the body. */
  readonly begin: number;
  /** Place behind the last byte of each point; an absent point has no bytes. */
  readonly ends: Uint32Array;
}

/** The written lists of one series. */
interface WrittenSeries {
  readonly points: WrittenPoints;
  /** Undefined for a series without error bounds. */
  readonly bounds: WrittenPoints | undefined;
}

/** Written points of an earlier body that the next body can copy: those outside of a span. */
export interface Moved<Written> {
  readonly written: Written;
  readonly span: Span;
  /** Added to an index, it gives that of the same time in the earlier body. */
  readonly shift: number;
}

/** Adjacent points by their indexes; `end` is behind the last one. */
export interface Span {
  readonly begin: number;
  readonly end: number;
}

export type MovedPoints = Moved<WrittenPoints>;

/** The text of a finished series. Its writer fills it in, for the series of later windows. */
export interface SeriesText {
  /** Undefined until a body with the series was written. */
  written: WrittenSeries | undefined;
  /** What the first body copies. */
  moved: Moved<WrittenSeries> | undefined;
}

/** The text of a series without an earlier body. */
export function newText(): SeriesText {
  return { written: undefined, moved: undefined };
}

/** The text of a series whose points outside of a span are those of an earlier series. */
export function movedText({ written }: SeriesText, { span, shift }: Omit<Moved<WrittenSeries>, "written">): SeriesText {
  // Only the bytes are referenced: a reference to the earlier text would hold all texts before it.
  return { written: undefined, moved: written && { written, span, shift } };
}
