import { StoreError } from "../store-error.ts";
import type { Column } from "./matrix.ts";

/** Most bytes of all columns of one response. A sparse response has few bytes, and columns as long as a full one's. */
const columnBytesMax = 512 * 1024 * 1024;

/**
 * Creates the columns of one response in one buffer, because a process holds tens of thousands of them. Their numbers
 * come first, so that they are aligned. A holder of some of the columns holds the bytes of all, unless it copies them.
 * @throws StoreError `too_large`
 */
export function createColumns(columnCount: number, pointCount: number): readonly Column[] {
  const valueBytes = pointCount * Float64Array.BYTES_PER_ELEMENT;
  const bytes = columnCount * (valueBytes + pointCount);
  if (bytes > columnBytesMax) {
    const asked = `${columnCount} series of ${pointCount} points`;
    throw new StoreError("too_large", `the response has ${asked}, more than ${columnBytesMax} bytes`);
  }
  const slab = new ArrayBuffer(bytes);
  return Array.from({ length: columnCount }, (_, index) => ({
    values: new Float64Array(slab, index * valueBytes, pointCount),
    present: new Uint8Array(slab, columnCount * valueBytes + index * pointCount, pointCount),
  }));
}
