import type { Socket } from "node:net";

/** Passes on what either end says, to its last byte; when one end breaks, so does the other. */
export function joinSockets(one: Socket, other: Socket): void {
  for (const [from, to] of [
    [one, other],
    [other, one],
  ] as const) {
    from.setNoDelay(true);
    from.pipe(to);
    from.on("error", () => to.destroy());
    // An end that was said is passed on by the pipe, behind what still waits there.
    from.on("close", () => void (from.readableEnded || to.destroy()));
  }
}
