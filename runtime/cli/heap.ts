import { setFlagsFromString } from "node:v8";

/**
 * Lets bytes outside of the heap count like bytes in it. By default the whole heap is swept, for 20 to 40 ms, whenever
 * 32 MB of them have come since the last time, which answers of stores do several times a second, whatever became of
 * them.
 */
export function countBytesOutsideLikeInside(): void {
  setFlagsFromString("--external-memory-accounted-in-global-limit");
}
