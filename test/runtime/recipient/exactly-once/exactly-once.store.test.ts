import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startPostgres, type PostgresHandle } from "../../../support/debian/postgres.ts";
import { startRedis, type RedisHandle } from "../../../support/debian/redis.ts";
import { findDebianServer } from "../../../tools/debian-server.ts";
import { prove } from "./prove.ts";

const postgres = await findDebianServer("postgres");
const redis = await findDebianServer("redis-server");
const timeoutMs = 900_000;

describe.skipIf("missing" in postgres)("four processes on one Postgres, killed at random", () => {
  let server: PostgresHandle;
  beforeAll(async () => {
    server = await startPostgres(postgres);
  });
  afterAll(() => server.stop());

  test("have each effect exactly once", { timeout: timeoutMs }, async () => {
    const { events, sent, counted } = await prove("postgres", server.url);
    expect(sent.cutOff).toBeGreaterThan(0);
    expect(sent.accepted).toBeGreaterThan(events);
    expect(counted).toEqual({ events, effects: events, runs: events });
  });
});

describe.skipIf("missing" in redis)("four processes on one Redis, killed at random", () => {
  let server: RedisHandle;
  beforeAll(async () => {
    server = await startRedis(redis);
  });
  afterAll(() => server.stop());

  test("lose no effect, and repeat at most those that a kill cut off", { timeout: timeoutMs }, async () => {
    const { events, sent, counted, repeatsMax } = await prove("redis", server.url);
    expect(sent.accepted).toBeGreaterThan(events);
    expect(counted).toMatchObject({ events, effects: events });
    expect(counted.runs - events).toBeLessThanOrEqual(repeatsMax);
  });
});
