import * as fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { percentileOf } from "../../../../limits/percentile.ts";
import { connectNats, type NatsConnectionHandle } from "../../../../runtime/nats/connection/connect.ts";
import {
  createDeadLettersStream,
  type DeadLettersStream,
} from "../../../../runtime/nats/streams/dead-letters-stream.ts";
import { ensureTopology } from "../../../../runtime/nats/streams/topology.ts";
import type { Partner } from "../../../../runtime/webhooks/partners/partner.ts";
import { deadLetterOf, unreadableDeadLetter } from "../../../../runtime/webhooks/records/dead-letter-record.ts";
import { partnerKey } from "../../../../runtime/webhooks/ids.ts";
import { createDeadLetterIndex, type DeadLetterIndex } from "../../../../runtime/webhooks/replay/dead-letter-index.ts";
import { countByIndex, listByIndex } from "../../../../runtime/webhooks/replay/dead-letter-overview.ts";
import type { ReplayCaller } from "../../../../runtime/webhooks/replay/replay-job.ts";
import { startNatsServer, type NatsServerHandle } from "../../../support/nats-server.ts";
import { isSoak } from "../../../support/soak.ts";
import { waitFor } from "../../../support/wait.ts";
import { testSettings } from "../engine-fixture.ts";

let server: NatsServerHandle;
let nats: NatsConnectionHandle;
beforeAll(async () => {
  server = await startNatsServer();
  nats = await connectNats({ servers: [server.url] });
});
afterAll(async () => {
  await nats?.drain();
  await server?.stop();
});

const timeoutMs = 20_000;
const everyone: ReplayCaller = { client: "support", tenants: ["*"] };
let prefixes = 0;

const named = (name: string): Pick<Partner, "key" | "label"> => ({
  key: partnerKey(`uid-${name}`),
  label: `shop/${name}`,
});
const partners = () => ["one", "two"].map((name) => ({ ...named(name), config: {} })) as unknown as readonly Partner[];

interface Letter {
  readonly name: string;
  readonly tenant: string;
  readonly reason: string;
}

interface Case {
  readonly stream: DeadLettersStream;
  readonly index: DeadLetterIndex;
  readonly name: string;
  /** Stores a dead letter. @param isOld without headers, as earlier versions did */
  store(letter: Letter, isOld?: boolean): Promise<number>;
  ids(caller: ReplayCaller, page?: object): Promise<readonly string[]>;
  counts(caller: ReplayCaller): Promise<object>;
}

async function caseOf(rowsMax?: number): Promise<Case> {
  prefixes += 1;
  const layout = await ensureTopology(nats, { ...testSettings.streams, prefix: `dli${prefixes}` });
  const stream = createDeadLettersStream(nats, layout);
  const index = createDeadLetterIndex(stream, rowsMax);
  const eventIndex = { read: () => Promise.reject(new Error("no index")) };
  const deps = { deadLetters: stream, index, eventIndex, partners };
  let stored = 0;
  return {
    stream,
    index,
    name: layout.streams.deadLetters,
    store: async ({ name, tenant, reason }, isOld = false) => {
      stored += 1;
      const { headers = {}, ...letter } = letterOf(`e-${stored}`, name, tenant, reason);
      const answer = await stream.append(isOld ? letter : { ...letter, headers });
      if (answer.kind !== "stored") throw new Error(`not stored: ${answer.kind}`);
      return answer.seq;
    },
    ids: async (caller, page = {}) => {
      const query = { isNewestFirst: true, afterSeq: 0, limit: 200, ...page };
      return (await listByIndex(deps, query, caller)).items.map(({ event_id: id }) => id);
    },
    counts: async (caller) => {
      const { counts, isComplete } = await countByIndex(deps, {}, caller);
      return { counts: counts.map(({ partner, reason, count }) => `${partner} ${reason} ${count}`), isComplete };
    },
  };
}

function letterOf(eventId: string, name: string, tenant: string, reason: string) {
  const { key, label } = named(name);
  const uid = `uid-${name}`;
  const step = { did: `did-${eventId}`, generation: 0, attempt: 1, hop: 0 };
  const delivery = { ...step, partner: key, tenant, eventId, type: "a.b", acceptedAtMs: 1, attemptsBefore: 0 };
  const partner = { key, label, config: { uid, namespace: "shop", name, specDigest: "" } };
  const ended = { state: "rejected", reason, endedAtMs: Date.now(), attempts: [], body: Buffer.from("{}") } as const;
  return deadLetterOf({ ...ended, delivery, partner });
}

const letter = (name: string, tenant = "acme", reason = "status_404"): Letter => ({ name, tenant, reason });

describe.concurrent("the index of dead letters", () => {
  test("lists and counts what it followed, whether the letters are of this version or of an earlier one", async () => {
    const it = await caseOf();
    await it.store(letter("one"), true);
    await it.store(letter("one", "vega"));
    expect(await it.counts(everyone)).toEqual({ counts: ["shop/one status_404 2"], isComplete: true });
    await it.store(letter("two", "acme", "connect"), true);
    await it.stream.append(unreadableDeadLetter(named("one").key, "hg.dlv.x", 7, Buffer.from("?")));
    expect(await it.ids(everyone)).toEqual(["e-3", "e-2", "e-1"]);
    expect(await it.ids(everyone, { isNewestFirst: false, limit: 2 })).toEqual(["e-1", "e-2"]);
    expect(await it.ids(everyone, { reason: "connect" })).toEqual(["e-3"]);
    expect(await it.ids({ ...everyone, tenants: ["acme"] })).toEqual(["e-3", "e-1"]);
    expect(await it.ids({ ...everyone, partners: ["shop/two"] })).toEqual(["e-3"]);
    expect(await it.counts({ ...everyone, tenants: ["acme"] })).toEqual({
      counts: ["shop/one status_404 1", "shop/two connect 1"],
      isComplete: true,
    });
    expect(await it.counts({ ...everyone, tenants: ["other"] })).toEqual({ counts: [], isComplete: true });
    expect(await it.counts({ ...everyone, partners: [] })).toEqual({ counts: [], isComplete: true });
  });

  test("shows a removed partner under the key of its name alone", async () => {
    const it = await caseOf();
    const { headers = {}, ...own } = letterOf("e-1", "gone", "acme", "connect");
    await it.stream.append({ ...own, headers });
    expect(await it.ids(everyone)).toEqual([]);
    await it.stream.append({ ...own, headers, partner: partnerKey("shop/gone"), messageId: "again" });
    expect(await it.counts(everyone)).toEqual({ counts: ["shop/gone connect 1"], isComplete: true });
    expect(await it.counts({ ...everyone, partners: ["shop/one"] })).toEqual({ counts: [], isComplete: true });
  });

  test("agrees with the stream after every store and every removal, with one pod as with another", async () => {
    const steps = fc.array(
      fc.oneof(
        fc.record({
          name: fc.constantFrom("one", "two"),
          tenant: fc.constantFrom("acme", "vega"),
          reason: fc.constantFrom("status_404", "connect"),
          isOld: fc.boolean(),
        }),
        fc.record({ remove: fc.nat(20) }),
      ),
      { minLength: 8, maxLength: 14 },
    );
    for (const run of fc.sample(steps, { numRuns: 6, seed: 20 })) {
      const it = await caseOf();
      let live: (Letter & { readonly id: string; readonly seq: number })[] = [];
      let stored = 0;
      for (const step of run) {
        const gone = "remove" in step ? live[step.remove % Math.max(1, live.length)] : undefined;
        if (gone !== undefined) await it.stream.remove(gone.seq);
        live = live.filter((one) => one !== gone);
        if ("name" in step) {
          stored += 1;
          live.push({ ...step, id: `e-${stored}`, seq: await it.store(step, step.isOld) });
        }
        expect(await it.ids(everyone)).toEqual(live.map(({ id }) => id).toReversed());
        const { rows, isWhole } = await createDeadLetterIndex(it.stream).read();
        const known = await it.index.read();
        expect(rows.map(({ seq }) => seq)).toEqual(live.map(({ seq }) => seq));
        expect([isWhole, known.isWhole, known.rows]).toEqual([true, true, rows]);
      }
    }
  });

  test("holds the newest up to its bound, and says that there are more", async () => {
    const it = await caseOf(3);
    for (let count = 0; count < 5; count += 1) await it.store(letter("one"), count % 2 === 0);
    expect(await it.ids(everyone)).toEqual(["e-5", "e-4", "e-3"]);
    expect(await it.counts(everyone)).toEqual({ counts: ["shop/one status_404 3"], isComplete: false });
  });

  test("begins again with a stream that was emptied or made again", async () => {
    const it = await caseOf();
    await it.store(letter("one"));
    expect(await it.ids(everyone)).toEqual(["e-1"]);
    await nats.manager.streams.purge(it.name);
    expect(await it.counts(everyone)).toEqual({ counts: [], isComplete: true });
    await it.store(letter("two"));
    expect(await it.ids(everyone)).toEqual(["e-2"]);
    const { config } = await nats.manager.streams.info(it.name);
    await nats.manager.streams.delete(it.name);
    await nats.manager.streams.add(config);
    for (let count = 0; count < 3; count += 1) await it.store(letter("one"));
    expect(await it.ids(everyone)).toEqual(["e-5", "e-4", "e-3"]);
    expect(await it.counts(everyone)).toEqual({ counts: ["shop/one status_404 3"], isComplete: true });
  });

  test("sees letters leave at the end of their retention", async () => {
    const it = await caseOf();
    const { headers = {}, ...own } = letterOf("short", "one", "acme", "connect");
    await it.stream.append({ ...own, headers, retainSeconds: 3 });
    await it.store(letter("one"));
    expect(await it.ids(everyone)).toEqual(["e-1", "short"]);
    const look = async () => ((await it.ids(everyone)).length === 1 ? true : undefined);
    await waitFor(look, { timeoutMs, what: "the end of the letter" });
    expect(await it.counts(everyone)).toEqual({ counts: ["shop/one status_404 1"], isComplete: true });
  });
});

test("a page and the counts of many letters take milliseconds once they are known", { timeout: 300_000 }, async () => {
  const it = await caseOf();
  const count = isSoak ? 100_000 : 5_000;
  for (let start = 0; start < count; start += 500) {
    const some = Array.from({ length: 500 }, (_, more) => (start + more) % 7);
    await Promise.all(some.map((kind) => it.store(letter(kind === 0 ? "two" : "one", `t-${kind}`))));
  }
  const timed = async (run: () => Promise<unknown>): Promise<number> => {
    const startMs = performance.now();
    await run();
    return performance.now() - startMs;
  };
  const firstMs = await timed(() => it.index.read());
  const tenant = { ...everyone, tenants: ["t-0"] };
  const runs = Array.from({ length: 30 }, () => it);
  const pages: number[] = [];
  for (const one of runs) pages.push(await timed(() => one.ids(tenant, { limit: 50 })));
  const sums: number[] = [];
  for (const one of runs) sums.push(await timed(() => one.counts(tenant)));
  const gets: number[] = [];
  for (const one of runs) gets.push(await timed(() => one.stream.at(count)));
  const p95 = (values: readonly number[]): number => percentileOf(values, 0.95) ?? 0;
  const [page, sum, get] = [pages, sums, gets].map(p95);
  process.stderr.write(
    `dead letters: ${count} known after ${firstMs.toFixed(0)} ms; p95 of a page of 50: ${page?.toFixed(1)} ms, ` +
      `of counts: ${sum?.toFixed(1)} ms, of one get: ${get?.toFixed(1)} ms\n`,
  );
  expect(await it.counts(tenant)).toMatchObject({ isComplete: true });
  expect(await it.ids(tenant, { limit: 50 })).toHaveLength(50);
});
