import { describe, expect, test } from "vitest";
import { createLiveness, needsRestart, type ServerState } from "../../../../runtime/nats/monitor/liveness.ts";

const mebibyte = 1024 * 1024;
const roomy = { sizeBytes: 1_000 * mebibyte, availableBytes: 500 * mebibyte };
const full = { ...roomy, availableBytes: 20 * mebibyte };
const well: ServerState = { isJetStreamOn: true, isHealthy: true, hasFiles: true, volume: roomy };
const catchUpMs = 240_000;

test.each<[string, Partial<ServerState>, number, boolean]>([
  ["that works stays", {}, 0, false],
  ["without JetStream restarts at once", { isJetStreamOn: false, isHealthy: false }, 0, true],
  [
    "without JetStream and with a full volume stays",
    { isJetStreamOn: false, isHealthy: false, volume: full },
    0,
    false,
  ],
  ["whose volume cannot be read is judged without it", { isJetStreamOn: false, volume: undefined }, 0, true],
  ["that catches up stays", { isHealthy: false }, catchUpMs - 1, false],
  ["that does not catch up restarts", { isHealthy: false }, catchUpMs, true],
  ["with a stream that refuses writes on a full volume stays", { isHealthy: false, volume: full }, catchUpMs, false],
  ["with a full volume that works stays", { volume: full }, 0, false],
  [
    "whose files are gone stays, even if a stream refuses writes",
    { isHealthy: false, hasFiles: false },
    catchUpMs,
    false,
  ],
  [
    "whose files are gone and that has no JetStream has nothing to lose",
    { isJetStreamOn: false, hasFiles: false },
    0,
    true,
  ],
])("a server %s", (_sentence, state, unhealthyMs, expected) => {
  expect(needsRestart({ ...well, ...state }, unhealthyMs, catchUpMs)).toBe(expected);
});

describe("a look", () => {
  const now = { ms: 0, isOn: true, isHealthy: true };
  const read = async (path: string) => {
    const isExpected = path === "/healthz" ? now.isHealthy : now.isOn;
    return { status: isExpected ? 200 : 503, body: "" };
  };
  const liveness = createLiveness({
    read,
    volume: async () => roomy,
    hasFiles: () => true,
    catchUpMs,
    nowMs: () => now.ms,
  });

  test("measures the time to catch up from the first failure, and anew after a success", async () => {
    const after = async (ms: number, isHealthy: boolean): Promise<boolean> => {
      now.ms += ms;
      now.isHealthy = isHealthy;
      return liveness.look();
    };
    expect(await after(1_000_000, false)).toBe(true);
    expect(await after(catchUpMs - 1, false)).toBe(true);
    expect(await after(0, true)).toBe(true);
    expect(await after(0, false)).toBe(true);
    expect(await after(catchUpMs - 1, false)).toBe(true);
    expect(await after(1, false)).toBe(false);
  });

  test("of a server without JetStream wants a restart at once", async () => {
    Object.assign(now, { isHealthy: false, isOn: false });
    expect(await liveness.look()).toBe(false);
  });
});
