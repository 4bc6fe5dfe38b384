import { beforeEach, describe, expect, test } from "vitest";
import { ConfigReporter } from "../../../runtime/program/config-report.ts";
import { healthOf, type ProgramStatus, reportOf, startingStatus } from "../../../runtime/program/status.ts";
import type { DisabledMark } from "../../../runtime/webhooks/partners/partner-holds.ts";
import { waitFor } from "../../support/wait.ts";
import { configOf, fewShards, shardSecrets } from "../config/shard-secrets.ts";
import { ShardSet, type ShardedState } from "../../../runtime/config/kubernetes/shard-set.ts";

let status: ProgramStatus;

function stateOf(partners: Parameters<typeof configOf>[0], revision = 1): ShardedState {
  const set = new ShardSet(fewShards);
  for (const [name, secret] of shardSecrets(configOf(partners), { revision, token: "t" })) set.take(name, secret);
  const state = set.join(undefined);
  if (state === undefined) throw new Error("a shard is missing");
  return state;
}

const appliedAt = new Date("2026-01-01T00:00:00.000Z");
const acme = stateOf({ acme: {} });
const never = new AbortController().signal;

function markOf({ config }: ShardedState, changes: Partial<DisabledMark> = {}): DisabledMark {
  const [partner] = config.partners;
  if (partner === undefined) throw new Error("no partner");
  const { uid, namespace, name, generation, specDigest } = partner;
  return { uid, namespace, name, generation, specDigest, at: "2026-01-02T00:00:00.000Z", ...changes };
}

beforeEach(() => {
  status = startingStatus("pod-a");
});

function start(): void {
  status.nats = { isConnected: () => true };
  status.engine = { health: () => ({ ok: true }) };
  status.applied = { state: acme, at: appliedAt };
}

describe("the health of a program", () => {
  test("names each part that is not healthy and why, until all are", () => {
    status.waitingFor = "3 of 40 shards applied";
    status.natsFault = "refused";
    expect(healthOf(status)).toEqual([
      { name: "process", ok: true },
      { name: "config", ok: false, detail: "3 of 40 shards applied" },
      { name: "nats", ok: false, detail: "refused" },
      { name: "streams", ok: true },
      { name: "webhooks", ok: false, detail: "not started" },
    ]);
    start();
    expect(healthOf(status).every(({ ok }) => ok)).toBe(true);
    status.draining = true;
    expect(healthOf(status)[0]).toEqual({ name: "process", ok: false, detail: "draining" });
  });
});

describe("the report", () => {
  test("of a program that starts holds nothing and is not ready", () => {
    expect(reportOf(status)).toMatchObject({
      pod: "pod-a",
      ready: false,
      hash: null,
      shards: {},
      errors: [],
      marks: [],
      applied_at: null,
    });
  });

  test("holds shards, hash and figures of the applied configuration", () => {
    start();
    expect(reportOf(status)).toMatchObject({
      ready: true,
      hash: acme.hash,
      shards: { "config-00": { revision: 1 }, "config-01": { revision: 1 }, "keys-00": { revision: 1 } },
      applied_at: appliedAt.toISOString(),
      partners: 1,
      problems: 0,
    });
  });

  test("has the earlier content hash after an edit is undone, and another one for another key", () => {
    start();
    const hashOf = (partner: Parameters<typeof stateOf>[0][string]) => {
      const state = stateOf({ acme: partner });
      status.applied = { state, at: appliedAt };
      const { hash, content_hash } = reportOf(status);
      return { hash, content: content_hash };
    };
    const before = hashOf({ generation: 1 });
    const edited = hashOf({ generation: 2, changes: { "endpoint.timeoutSeconds": 9 } });
    const restored = hashOf({ generation: 3 });
    expect(before.content).toMatch(/^[0-9a-f]{64}$/u);
    expect([edited.content === before.content, restored.content === before.content]).toEqual([false, true]);
    expect(restored.hash).not.toBe(before.hash);
    expect(hashOf({ generation: 4, key: "other" }).content).not.toBe(before.content);
  });

  test("has the same version until something in it changes", () => {
    start();
    const { version } = reportOf(status);
    expect(reportOf(status).version).toBe(version);
    status.engine = { health: () => ({ ok: false }) };
    expect(reportOf(status).version).not.toBe(version);
  });

  test("keeps the applied version of a shard whose newer one cannot be applied, and reports why", () => {
    start();
    const next = stateOf({ acme: { changes: { "endpoint.timeoutSeconds": 9 }, generation: 2 } }, 2);
    status.rejected = { state: next, reason: "no room" };
    const { shards } = reportOf(status);
    const changed = Object.keys(acme.shards).filter((name) => acme.shards[name]?.sha256 !== next.shards[name]?.sha256);
    expect(changed).toHaveLength(1);
    for (const [name, shard] of Object.entries(shards)) {
      const error = changed.includes(name) ? { error: "cannot be applied: no room" } : {};
      expect(shard).toEqual({ ...acme.shards[name], ...error });
    }
  });

  test("reports the results of endpoint validations (CloudEvents web hooks §4)", () => {
    start();
    const [partner] = acme.config.partners;
    if (partner === undefined) throw new Error("no partner");
    const failing = (reason: "consent" | "tls") =>
      ({ kind: "failure", reason, detail: "why", timings: { totalMs: 1 } }) as const;
    const marksWith = (failure?: ReturnType<typeof failing>) => {
      const validation = { partner, sinceMs: 0, ...(failure === undefined ? {} : { failure }) };
      status.engine = { health: () => ({ ok: true }), endpointValidations: () => [validation] };
      return reportOf(status).marks;
    };
    const common = {
      kind: "WebhookPartner",
      namespace: "default",
      name: "acme",
      uid: "uid-acme",
      generation: 1,
      since: "1970-01-01T00:00:00.000Z",
    };
    expect(marksWith()).toEqual([
      {
        ...common,
        reason: "Verified",
        message: "The endpoint responded to the validation request and accepts deliveries.",
      },
    ]);
    expect(marksWith(failing("consent"))).toEqual([
      { ...common, reason: "ConsentRefused", message: "Nothing is sent: why." },
    ]);
    expect(marksWith(failing("tls"))).toEqual([
      { ...common, reason: "ConsentUnanswered", message: "Nothing is sent: tls, why." },
    ]);
  });

  test("marks a partner that a 410 disabled until its specification changes (Webhook Event Delivery §7)", () => {
    start();
    status.disabled = [markOf(acme), markOf(acme, { uid: "gone" })];
    expect(reportOf(status).marks).toEqual([
      {
        kind: "WebhookPartner",
        namespace: "default",
        name: "acme",
        uid: "uid-acme",
        generation: 1,
        reason: "PartnerDisabled",
        message: expect.stringContaining("410"),
        since: "2026-01-02T00:00:00.000Z",
      },
    ]);
    status.applied = { state: stateOf({ acme: { changes: { "endpoint.timeoutSeconds": 9 } } }), at: appliedAt };
    expect(reportOf(status).marks).toEqual([]);
  });
});

describe("a poll for the next report", () => {
  test("has it at once when there is another already", async () => {
    start();
    expect(await new ConfigReporter(status).next("old", 60_000, never)).toMatchObject({ hash: acme.hash });
  });

  test("ends as soon as a change is reported", async () => {
    const reporter = new ConfigReporter(status);
    const waiting = reporter.next(reporter.report().version, 60_000, never);
    start();
    reporter.changed();
    expect(await waiting).toMatchObject({ hash: acme.hash });
  });

  test("ends soon after a change of a part that reports none", async () => {
    start();
    const reporter = new ConfigReporter(status);
    const waiting = reporter.next(reporter.report().version, 60_000, never);
    status.nats = { isConnected: () => false };
    expect(await waiting).toMatchObject({ ready: false });
  });

  test("is not woken by what changes nothing, and has the same when the wait is over", async () => {
    const reporter = new ConfigReporter(status);
    const { version } = reporter.report();
    const startedMs = performance.now();
    const waiting = reporter.next(version, 50, never);
    reporter.changed();
    expect((await waiting).version).toBe(version);
    expect(performance.now() - startedMs).toBeGreaterThanOrEqual(49);
  });

  test("is let go when it hangs up", async () => {
    const reporter = new ConfigReporter(status);
    const hangUp = new AbortController();
    const waiting = reporter.next(reporter.report().version, 60_000, hangUp.signal);
    hangUp.abort();
    expect(await waiting).toMatchObject({ hash: null });
  });
});

describe("marks", () => {
  test("are read at first and whenever this pod disables a partner; a failure keeps the last ones", async () => {
    start();
    const reporter = new ConfigReporter(status);
    let listener: () => void = () => undefined;
    let answers: (readonly DisabledMark[] | Error)[] = [[], [markOf(acme)], new Error("no answer")];
    const end = reporter.followMarks({
      list: async () => {
        const [answer = [], ...rest] = answers;
        answers = rest;
        if (answer instanceof Error) throw answer;
        return answer;
      },
      onMark: (next) => {
        listener = next;
        return () => {
          listener = () => undefined;
        };
      },
    });
    await waitFor(() => answers.length === 2, { timeoutMs: 20_000, what: "the first look" });
    const waiting = reporter.next(reporter.report().version, 60_000, never);
    listener();
    expect((await waiting).marks).toHaveLength(1);
    listener();
    await waitFor(() => answers.length === 0, { timeoutMs: 20_000, what: "the look that fails" });
    expect(reporter.report().marks).toHaveLength(1);
    end();
    expect(reporter.token()).toBe("t");
  });
});
