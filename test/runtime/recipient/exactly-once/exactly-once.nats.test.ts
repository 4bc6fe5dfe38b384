import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startNatsServer, type NatsServerHandle } from "../../../support/nats-server.ts";
import { prove } from "./prove.ts";

const timeoutMs = 900_000;

describe("four processes on one bucket of NATS, killed at random", () => {
  let server: NatsServerHandle;
  beforeAll(async () => {
    server = await startNatsServer();
  });
  afterAll(() => server.stop());

  test("lose no effect, and repeat at most those that a kill cut off", { timeout: timeoutMs }, async () => {
    const { events, sent, counted, repeatsMax } = await prove("nats", server.url);
    expect(sent.accepted).toBeGreaterThan(events);
    expect(counted).toMatchObject({ events, effects: events });
    expect(counted.runs - events).toBeLessThanOrEqual(repeatsMax);
  });
});
