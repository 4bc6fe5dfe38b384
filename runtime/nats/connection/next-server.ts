import type { ReconnectToServerHandler } from "@nats-io/transport-node";

/** Pause between two connection attempts to the same server, in milliseconds. */
interface Pauses {
  readonly pauseMs: number;
  /** Bound on the random addition to it. */
  readonly jitterMs: number;
}

/**
 * Chooses the server of each connection attempt: the one whose last attempt is the longest ago, so a lost server is
 * tried last. Attempts are timed by the monotonic clock, because the client's own choice waits until the wall clock
 * passes the time of the last attempt, which takes an hour when the clock was set back by an hour.
 *
 * @param nowMs a monotonic clock, milliseconds. @default performance.now
 * @param random [0, 1). @default Math.random
 */
export function createNextServer(
  { pauseMs, jitterMs }: Pauses,
  nowMs: () => number = () => performance.now(),
  random: () => number = Math.random,
): ReconnectToServerHandler {
  let triedMs: ReadonlyMap<string, number> = new Map();
  return (pool) => {
    const lastOf = (address: string): number => triedMs.get(address) ?? Number.NEGATIVE_INFINITY;
    const ordered = pool.toSorted((one, other) => {
      const [a, b] = [lastOf(addressOf(one)), lastOf(addressOf(other))];
      return a === b ? 0 : a - b;
    });
    const [server] = ordered;
    if (server === undefined) return null;
    const address = addressOf(server);
    const delay = Math.max(0, lastOf(address) + pauseMs + random() * jitterMs - nowMs());
    // Servers that the cluster no longer announces are forgotten.
    const known = new Set(pool.map(addressOf));
    triedMs = new Map([...triedMs].filter(([one]) => known.has(one))).set(address, nowMs() + delay);
    return { server, delay };
  };
}

function addressOf({ hostname, port }: { readonly hostname: string; readonly port: number }): string {
  return `${hostname}:${port}`;
}
