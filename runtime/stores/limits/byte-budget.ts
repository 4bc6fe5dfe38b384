import { StoreError } from "../store-error.ts";

/** Most bytes of all responses to one query: 50 series of 11,000 points, or a fan-out of buckets. */
export const queryBytesMax = 48 * 1024 * 1024;

/** The bytes that one query may still read. All requests of the query share the budget, which bounds its memory. */
export interface ByteBudget {
  /** Counts bytes that were read. @throws StoreError `too_large` */
  take(bytes: number): void;
  /** Checks an announced length before the bytes are read. @throws StoreError `too_large` */
  check(bytes: number): void;
  /** The number of bytes that were read. */
  taken(): number;
}

/** Creates a full budget. */
export function createByteBudget(bytesMax: number = queryBytesMax): ByteBudget {
  let taken = 0;
  const check = (bytes: number): void => {
    if (taken + bytes > bytesMax) throw new StoreError("too_large", `the stores return more than ${bytesMax} bytes`);
  };
  return {
    check,
    take(bytes) {
      check(bytes);
      taken += bytes;
    },
    taken: () => taken,
  };
}
