import { setTimeout as sleep } from "node:timers/promises";
import { startPrometheus } from "../support/prometheus.ts";
import { remoteWrite } from "../support/remote-write.ts";
import { startTcpProxy } from "../support/tcp-proxy.ts";
import { settleSeconds, type Region } from "./catalog.ts";
import { createStoreRecord, type StoreRecord } from "./store-record.ts";
import { makeTargets, type Scraped } from "./targets.ts";

/** A real Prometheus behind a proxy, with live writes that the probe writes down. */
export interface ProbedStore {
  readonly region: Region;
  /** Of the proxy. */
  readonly url: string;
  /** Past the proxy. */
  readonly directUrl: string;
  readonly record: StoreRecord;
  /** Kills the server, and starts it again on what it stored. */
  kill(downMs: number): Promise<void>;
  /** Keeps every byte of those who ask for a time. */
  hang(forMs: number): Promise<void>;
  /** Refuses connections of those who ask for a time. */
  block(forMs: number): Promise<void>;
  /** Resets every connection once. */
  cut(): void;
  /** Ends the writes; later ones throw what a write failed with. */
  stop(): Promise<void>;
}

/** History that each store has before anybody asks. */
const backfillMs = 360_000;
const writeMs = 1_000;
const lateShare = 0.03;
const lateMsMax = 20_000;
/** What is older than this is never written: an agent has lost it. */
const writtenAgeMsMax = 25_000;

const config = "storage:\n  tsdb:\n    out_of_order_time_window: 1h\n";

/** Starts the store and its writes. @param next its random numbers */
export async function startProbedStore(region: Region, next: () => number): Promise<ProbedStore> {
  const server = await startPrometheus({
    config,
    flags: ["--enable-feature=promql-extended-range-selectors,exemplar-storage"],
  });
  const proxy = await startTcpProxy(server.url);
  const record = createStoreRecord(region);
  const writing = startWriting({ next, record, write: (series) => remoteWrite(server.url, series) });
  await writing.begun;
  return {
    region,
    url: `http://127.0.0.1:${proxy.port}`,
    directUrl: server.url,
    record,
    async kill(downMs) {
      // A write that a crash cuts short may or may not be there, so none is under way.
      const resume = await writing.pause();
      await server.kill9();
      await sleep(downMs);
      await server.restart();
      resume();
    },
    async hang(forMs) {
      proxy.hold();
      await sleep(forMs);
      proxy.release();
    },
    async block(forMs) {
      proxy.block();
      await sleep(forMs);
      proxy.unblock();
    },
    cut: () => proxy.cut(),
    async stop() {
      const ended = await writing.stop();
      await proxy.stop();
      await server.stop();
      if (ended !== undefined) throw ended;
    },
  };
}

interface Writing {
  readonly begun: Promise<void>;
  /** Resolves when no write is under way; none begins until the function that it answers is called. */
  pause(): Promise<() => void>;
  /** What a write failed with, if one did. */
  stop(): Promise<unknown>;
}

interface WritingOptions {
  readonly next: () => number;
  readonly record: StoreRecord;
  readonly write: (
    series: readonly {
      readonly name: string;
      readonly labels: Readonly<Record<string, string>>;
      readonly samples: readonly Pick<Scraped, "ms" | "value" | "exemplar">[];
    }[],
  ) => Promise<void>;
}

function startWriting({ next, record, write }: WritingOptions): Writing {
  const targets = makeTargets(next, Date.now() - backfillMs);
  const begun = Promise.withResolvers<void>();
  let underWay = Promise.resolve();
  const stopping = new AbortController();
  const pending: Scraped[] = [];
  const late: (Scraped & { readonly dueMs: number })[] = [];
  const send = async (samples: readonly Scraped[]): Promise<void> => {
    const young = samples.filter(({ ms }) => record.batch(0) === undefined || ms > Date.now() - writtenAgeMsMax);
    if (young.length === 0) return;
    const sentMs = Date.now();
    await write(young.map(({ name, labels, ...sample }) => ({ name, labels, samples: [sample] })));
    const ackedMs = Date.now();
    record.add(young, { sentMs, ackedMs });
    const oldestMs = Math.min(...young.map(({ ms }) => ms));
    if (record.batch(1) !== undefined && ackedMs - oldestMs > settleSeconds * 1_000)
      throw new Error("the machine is too slow: a write took longer than settleSeconds");
  };
  const turn = async (): Promise<void> => {
    const nowMs = Date.now();
    const found = targets.flatMap((target) => target.scrapes(nowMs));
    const isFirst = record.batch(0) === undefined;
    for (const one of found) {
      if (!isFirst && one.mayBeLate && next() < lateShare)
        late.push({ ...one, exemplar: undefined, dueMs: one.ms + Math.floor(next() * lateMsMax) });
      else pending.push(one);
    }
    await send(pending.splice(0));
    // Each alone: out-of-order samples of several series do not show in a store at one instant.
    for (const one of late.filter(({ dueMs }) => dueMs <= nowMs)) {
      late.splice(late.indexOf(one), 1);
      await send([one]);
    }
    begun.resolve();
  };
  const loop = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      const own = underWay.then(turn);
      underWay = own.catch(() => undefined);
      await own;
      await sleep(writeMs);
      record.forget(Date.now() - 3 * backfillMs);
    }
  };
  let failure: unknown;
  const ended = loop().catch((error: unknown) => {
    failure = error;
    begun.reject(error);
  });
  return {
    begun: begun.promise,
    async pause() {
      const { promise, resolve } = Promise.withResolvers<void>();
      const before = underWay;
      underWay = before.then(() => promise);
      await before;
      return resolve;
    },
    async stop() {
      stopping.abort();
      await ended;
      return failure;
    },
  };
}
