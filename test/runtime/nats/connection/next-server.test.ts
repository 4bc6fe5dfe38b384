import { describe, expect, test } from "vitest";
import { createNextServer } from "../../../../runtime/nats/connection/dial.ts";

type Pool = Parameters<ReturnType<typeof createNextServer>>[0];

/** Servers with these ports. */
const pool = (...ports: readonly number[]): Pool =>
  ports.map((port) => ({
    hostname: "nats.example",
    port,
    listen: `nats.example:${port}`,
    src: "",
    tlsName: "",
    reconnects: 0,
    lastConnect: 0,
    gossiped: false,
    didConnect: false,
  }));

/** Choices of attempts at these times, as `port after delay`. */
function choices(servers: (atMs: number) => Pool, timesMs: readonly number[]): readonly string[] {
  let nowMs = 0;
  const next = createNextServer(
    { pauseMs: 200, jitterMs: 100 },
    () => nowMs,
    () => 0.5,
  );
  return timesMs.map((atMs) => {
    nowMs = atMs;
    const chosen = next(servers(atMs), null);
    if (chosen === null || !("server" in chosen)) throw new Error("nothing was chosen");
    return `${chosen.server.port} after ${chosen.delay}`;
  });
}

describe("the server of the next connection attempt", () => {
  test("is each of them once before the lost one, without a pause", () => {
    expect(choices(() => pool(1, 2, 3), [0, 60_000, 60_001, 60_002])).toEqual([
      "1 after 0",
      "2 after 0",
      "3 after 0",
      "1 after 0",
    ]);
  });

  test("is the only one at once when it is lost, and after a pause when it refuses", () => {
    expect(choices(() => pool(1), [0, 60_000, 60_010, 60_500])).toEqual([
      "1 after 0",
      "1 after 0",
      "1 after 240",
      "1 after 0",
    ]);
  });

  test("is a server that the cluster announced since", () => {
    expect(choices((atMs) => (atMs === 0 ? pool(1) : pool(1, 4)), [0, 60_000])).toEqual(["1 after 0", "4 after 0"]);
  });

  test("is left to the client when it knows none", () => {
    expect(createNextServer({ pauseMs: 200, jitterMs: 100 })([], null)).toBeNull();
  });
});
