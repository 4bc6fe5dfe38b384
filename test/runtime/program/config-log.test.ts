import { pino } from "pino";
import { beforeEach, describe, expect, test } from "vitest";
import type { ConfigState } from "../../../runtime/config/config-source.ts";
import { defaultSettings } from "../../../runtime/config/settings/settings-schema.ts";
import { shardLog } from "../../../runtime/program/config-log.ts";
import { configOf } from "../config/shard-secrets.ts";

let lines: Record<string, unknown>[] = [];
const log = pino({}, { write: (line: string) => lines.push(JSON.parse(line) as Record<string, unknown>) });
const logState = shardLog(log, defaultSettings.streams);

const shard = (revision: number, error?: string) => ({
  revision,
  sha256: `sha-${revision}`,
  ...(error === undefined ? {} : { error }),
});
const fault = {
  kind: "WebhookPartner",
  namespace: "default",
  name: "acme",
  generation: 2,
  reason: "MaterialMissing",
  message: "m",
} as const;

function stateOf(more: Partial<ConfigState> = {}): ConfigState {
  return {
    config: configOf({ acme: {} }),
    hash: "ab",
    shards: { "config-00": shard(1), "keys-00": shard(1) },
    errors: [],
    ...more,
  };
}

const messages = () => lines.map(({ msg }) => msg);

beforeEach(() => {
  lines = [];
});

describe("the log of shards", () => {
  test("sums up the first configuration, without a line for each shard", () => {
    logState(undefined, stateOf());
    expect(lines).toMatchObject([
      { msg: "configuration", configHash: "ab", partners: 1, catalogs: 0, quotas: 0, errors: 0 },
    ]);
  });

  test("names the shards that changed", () => {
    logState(stateOf(), stateOf({ shards: { "config-00": shard(2), "keys-00": shard(1) } }));
    expect(lines[0]).toMatchObject({ msg: "shard", shard: "config-00", revision: 2, sha256: "sha-2" });
    expect(messages()).toEqual(["shard", "configuration"]);
  });

  test("logs once each kept shard and each resource that is not applied", () => {
    const broken = stateOf({ shards: { "config-00": shard(1, "corrupt"), "keys-00": shard(1) }, errors: [fault] });
    logState(stateOf(), broken);
    expect(lines).toMatchObject([
      { level: 50, shard: "config-00", error: "corrupt" },
      { level: 50, ...fault },
      { errors: 1 },
    ]);
    lines = [];
    logState(broken, broken);
    expect(messages()).toEqual(["configuration"]);
  });

  test("names streams that would delete an event before its last retry", () => {
    const config = configOf({ acme: { changes: { "retry.maxAgeSeconds": 30 * 86_400 } } });
    logState(undefined, stateOf({ config }));
    expect(messages()).toContain("stream retention too short");
  });
});
