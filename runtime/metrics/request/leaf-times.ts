/** The times that a request for leaves names: a range, or one instant. All are Unix milliseconds. */
export type LeafTimes =
  | { readonly startMs: number; readonly endMs: number; readonly stepMs: number }
  | { readonly timeMs: number };

/** The stamps of a response to leaves, in Unix milliseconds. An instant has one. */
export interface Stamps {
  readonly startMs: number;
  readonly stepMs: number;
  readonly count: number;
}
