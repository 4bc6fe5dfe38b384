import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pino } from "pino";
import { Registry } from "prom-client";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { RuntimeConfig } from "../../../../crds/config.ts";
import {
  KubernetesSource,
  type KubernetesSourceOptions,
} from "../../../../runtime/config/kubernetes/kubernetes-source.ts";
import { ShardCopies } from "../../../../runtime/config/kubernetes/shard-copies.ts";
import type { ShardedState } from "../../../../runtime/config/kubernetes/shard-set.ts";
import { reset, silence, status } from "../../../support/scripted-api.ts";
import { temporaryFolder } from "../../../support/temp-folder.ts";
import { waitFor } from "../../../support/wait.ts";
import { startScriptedSecrets, type ScriptedSecrets } from "../scripted-secrets.ts";
import { configOf, corrupted, fewShards, secretOf, shardSecrets } from "../shard-secrets.ts";

const patience = { timeoutMs: 20_000, pollMs: 5 };
const times = {
  settleMs: 1,
  copiesAfterMs: 50,
  silenceMs: 5000,
  listTimeoutMs: 200,
  responseMs: 200,
  backoff: { baseMs: 1, maxMs: 20, jitter: 0.5 },
};

let server: ScriptedSecrets;
let registry: Registry;
let waiting: string[];
let opened: KubernetesSource[];
let cleanups: (() => Promise<void>)[];

beforeEach(async () => {
  server = await startScriptedSecrets();
  waiting = [];
  opened = [];
  cleanups = [];
});

afterEach(async () => {
  for (const source of opened) await source.stop();
  await server.api.stop();
  for (const cleanup of cleanups) await cleanup();
});

function options(more: Partial<KubernetesSourceOptions> = {}): KubernetesSourceOptions {
  return {
    access: server.api.access,
    namespace: "shop",
    prefix: "heliograph",
    counts: fewShards,
    userAgent: "test",
    log: pino({ level: "silent" }),
    registry,
    onWaiting: (detail) => waiting.push(detail),
    times,
    ...more,
  };
}

async function open(
  more: Partial<KubernetesSourceOptions> = {},
  signal = new AbortController().signal,
): Promise<KubernetesSource> {
  registry = new Registry();
  const source = await KubernetesSource.open(options(more), signal);
  opened.push(source);
  return source;
}

let revision = 0;
function write(config: RuntimeConfig, change: Parameters<typeof shardSecrets>[1] = {}): void {
  revision += 1;
  for (const secret of shardSecrets(config, { revision, token: "t", ...change }).values()) server.put(secret);
}

const acme = (timeoutSeconds: number) => configOf({ acme: { changes: { "endpoint.timeoutSeconds": timeoutSeconds } } });
const timeoutOf = ({ config }: ShardedState) => (config.partners[0]?.endpoint.timeoutMs ?? 0) / 1000;
const applied = (source: KubernetesSource, timeoutSeconds: number) =>
  waitFor(() => timeoutOf(source.current()) === timeoutSeconds, {
    ...patience,
    what: `the timeout of ${timeoutSeconds} s`,
  });

describe("configuration from Secrets", () => {
  test("is complete once every shard was received, and reports the missing shard until then", async () => {
    const secrets = shardSecrets(acme(3), { token: "t" });
    server.put(secretOf(secrets, "config-00"));
    server.put(secretOf(secrets, "keys-00"));
    const opening = open();
    await waitFor(() => waiting.some((line) => line.startsWith("2 of 3")), { ...patience, what: "two shards" });
    expect(waiting.at(-1)).toBe("2 of 3 shards applied; shop/heliograph-config-01: the Secret does not exist");
    server.put(secretOf(secrets, "config-01"));
    expect((await opening).current()).toMatchObject({ config: acme(3), configzToken: "t", errors: [] });
  });

  test("may be given up while it is waited for", async () => {
    const giveUp = new AbortController();
    const opening = open({}, giveUp.signal);
    giveUp.abort(new Error("stopped"));
    await expect(opening).rejects.toThrow("stopped");
    const asked = server.api.requests().length;
    await expect(open({}, giveUp.signal)).rejects.toThrow("stopped");
    expect(server.api.requests().length - asked).toBeLessThanOrEqual(3);
  });

  test("follows every edit, and reports concurrent changes once", async () => {
    write(acme(3));
    const source = await open({ times: { ...times, settleMs: 50 } });
    const told: ShardedState[] = [];
    const end = source.onChange((state) => told.push(state));
    write(acme(4));
    await applied(source, 4);
    expect(told).toHaveLength(1);
    end();
    write(acme(5));
    await applied(source, 5);
    expect(told).toHaveLength(1);
  });

  test("stays as it was when a shard is corrupted or removed, reports it, and goes on with the others", async () => {
    const all = configOf({ acme: {}, beta: {}, gamma: {}, delta: {} });
    write(all);
    const source = await open();
    const secrets = shardSecrets(all, { revision: 99, token: "t" });
    server.put(corrupted(secretOf(secrets, "config-00")));
    server.remove("heliograph-keys-00");
    await waitFor(() => source.current().shards["keys-00"]?.error, { ...patience, what: "both errors" });
    expect(source.current()).toMatchObject({
      config: all,
      shards: {
        "config-00": { revision: expect.any(Number), error: expect.stringContaining("cannot be read") },
        "keys-00": { error: "the Secret does not exist" },
      },
    });
    server.put(secretOf(secrets, "config-01"));
    await waitFor(() => source.current().shards["config-01"]?.revision === 99, { ...patience, what: "the good shard" });
    expect(source.current().config).toEqual(all);
    write(all);
    await waitFor(() => Object.values(source.current().shards).every(({ error }) => error === undefined), {
      ...patience,
      what: "all to be well",
    });
  });

  test("misses no edit of a hundred while its watches are ended again and again", async () => {
    write(acme(1));
    const source = await open();
    for (let edit = 1; edit <= 100; edit += 1) {
      write(acme(1 + (edit % 60)));
      if (edit % 3 === 0) server.endWatches();
      if (edit % 10 === 0) await applied(source, 1 + (edit % 60));
    }
    await applied(source, 1 + (100 % 60));
    expect(timeoutOf(source.current())).toBe(41);
  });

  test.each([
    ["breaks every connection", reset()],
    ["answers nothing", silence()],
    ["is overloaded", status(429, "TooManyRequests", 0)],
    ["fails", status(503, "ServiceUnavailable")],
    ["knows nobody", status(401, "Unauthorized")],
  ])("stays in force while the API server %s, and what was written meanwhile applies after", async (_name, reply) => {
    write(acme(3));
    const source = await open();
    const before = source.current().config;
    server.outage(reply);
    const asked = server.api.requests().length;
    await waitFor(() => server.api.requests().length >= asked + 4, { ...patience, what: "tries during the outage" });
    expect(source.current().config).toEqual(before);
    write(acme(4));
    server.outage(null);
    await applied(source, 4);
    await waitFor(() => Object.values(source.current().shards).every(({ error }) => error === undefined), {
      ...patience,
      what: "no error to be left",
    });
  });

  test("stays as it was for a resource that this version does not support, and reports it", async () => {
    write(acme(3));
    const source = await open();
    const strange = {
      ...acme(3),
      partners: acme(3).partners.map((partner) => ({ ...partner, signing: null })),
    } as unknown as RuntimeConfig;
    revision += 1;
    for (const secret of shardSecrets(strange, { revision, token: "t" }).values()) server.put(secret);
    await waitFor(
      () => source.current().errors.some(({ name, reason }) => name === "acme" && reason === "NotObeyable"),
      { ...patience, what: "the error" },
    );
    const { notApplied, ...inForce } = source.current().config;
    expect(inForce).toEqual(acme(3));
    expect(notApplied?.partners).toMatchObject([{ name: "acme", reason: "NotObeyable" }]);
    write(acme(4));
    await applied(source, 4);
    expect(source.current().errors).toEqual([]);
  });

  test("reports a right that was taken away until it is given back", async () => {
    write(acme(3));
    const source = await open();
    server.outage(status(403, "Forbidden"));
    await waitFor(() => source.current().shards["keys-00"]?.error?.includes("403 Forbidden"), {
      ...patience,
      what: "the refusal",
    });
    server.outage(null);
    await waitFor(() => source.current().shards["keys-00"]?.error === undefined, {
      ...patience,
      what: "the end of the refusal",
    });
    expect(timeoutOf(source.current())).toBe(3);
  });

  test("counts requests and errors, and shows the time of the last data from the server", async () => {
    write(acme(3));
    const source = await open();
    server.put(corrupted(secretOf(shardSecrets(acme(3)), "config-00")));
    await waitFor(() => source.current().shards["config-00"]?.error, { ...patience, what: "the error" });
    // The request by which the watch goes on is counted when it is answered, which may be a moment later.
    const areCounted = async () =>
      (await registry.metrics()).includes('heliograph_config_api_requests_total{status="200"} 6');
    await waitFor(areCounted, { ...patience, what: "six requests" });
    const text = await registry.metrics();
    expect(text).toMatch(/heliograph_config_shard_errors 1/u);
    expect(text).toMatch(/heliograph_config_shards_total\{outcome="bad"\} 1/u);
    expect(Number(/heard_timestamp_seconds (\d+)/u.exec(text)?.[1])).toBeGreaterThan(1_700_000_000);
  });
});

describe("copies of the configuration", () => {
  async function ownCopies(): Promise<{ readonly folder: string; readonly open: () => Promise<ShardCopies> }> {
    const folder = await temporaryFolder("source-copies");
    cleanups.push(() => folder.remove());
    return { folder: folder.path, open: () => ShardCopies.open(folder.path, "shop-heliograph") };
  }

  async function filled() {
    const copies = await ownCopies();
    write(acme(3));
    const source = await open({ copies: await copies.open() });
    await source.stop();
    return copies;
  }

  test("serve a start without the API server, whose later versions apply", async () => {
    const copies = await filled();
    server.outage(reset());
    const source = await open({ copies: await copies.open() });
    expect(source.current()).toMatchObject({ config: acme(3), configzToken: "t" });
    write(acme(4));
    server.outage(null);
    await applied(source, 4);
    expect(source.current().shards["config-00"]).not.toHaveProperty("error");
  });

  test("are not looked at when the API server answers", async () => {
    const copies = await filled();
    write(acme(5));
    expect(
      timeoutOf((await open({ copies: await copies.open(), times: { ...times, copiesAfterMs: 3_600_000 } })).current()),
    ).toBe(5);
  });

  test("that the disk damaged do not apply: the API server is waited for", async () => {
    const { folder, open: openCopies } = await filled();
    const file = join(folder, "shop-heliograph-config-00.json");
    const text = await readFile(file, "utf8");
    await writeFile(file, text.replace(/"shard\.json\.gz":"(.{40})./u, '"shard.json.gz":"$1_'));
    server.outage(reset());
    const opening = open({ copies: await openCopies() });
    await waitFor(() => waiting.some((line) => line.startsWith("2 of 3 shards applied; shop/heliograph-config-00")), {
      ...patience,
      what: "the damaged one",
    });
    server.outage(null);
    expect(timeoutOf((await opening).current())).toBe(3);
  });
});
