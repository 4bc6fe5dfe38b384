import type { Socket } from "node:net";
import { pipeline } from "node:stream";

/** Passes on what either end says, to its last byte; when one end breaks, so does the other. */
export function joinSockets(one: Socket, other: Socket): void {
  for (const [from, to] of [[one, other], [other, one]] as const) {
    from.setNoDelay(true);
    pipeline(from, to, (error) => {
      if (error) from.destroy();
    });
  }
}
