import { setFlagsFromString } from "node:v8";

/**
 * Counts bytes outside of the heap like bytes in it. By default, V8 sweeps the whole heap for 20 to 40 ms after each 32
 * MB of them. Responses of stores reach that several times a second.
 */
export function countBytesOutsideLikeInside(): void {
  setFlagsFromString("--external-memory-accounted-in-global-limit");
}
