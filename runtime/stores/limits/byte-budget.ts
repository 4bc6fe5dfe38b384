import { StoreError } from "../store-error.ts";

/** Bytes that all stores together may answer to one query: 50 series of 11,000 points, or a fan-out of buckets. */
export const queryBytesMax = 48 * 1024 * 1024;

/** How many bytes may still be read. Shared by all requests of one query, it bounds the query's memory. */
export interface ByteBudget {
  /** Counts bytes that were read. @throws StoreError `too_large` */
  take(bytes: number): void;
  /** Looks ahead at bytes that a store says it will send. @throws StoreError `too_large` */
  check(bytes: number): void;
  /** Bytes that were read. */
  taken(): number;
}

/** A full budget. */
export function createByteBudget(bytesMax: number = queryBytesMax): ByteBudget {
  let taken = 0;
  const check = (bytes: number): void => {
    if (taken + bytes > bytesMax) throw new StoreError("too_large", `the stores answer more than ${bytesMax} bytes`);
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
