import { isDeepStrictEqual } from "node:util";
import * as fc from "fast-check";
import { pino } from "pino";
import { Registry } from "prom-client";
import { expect, test } from "vitest";
import type { KubeClient, WatchOptions } from "../../../kube/client/client.ts";
import { Informer } from "../../../kube/informer/informer.ts";
import { KubeError } from "../../../kube/client/kube-error.ts";
import { createKubeMetrics } from "../../../kube/metrics.ts";
import { keyOf, type KubeObject } from "../../../kube/client/resource.ts";
import type { WatchEvent } from "../../../kube/client/watch.ts";
import { ManualClock, settle } from "../../support/manual-clock.ts";

/** What befalls the next event on its way. `skip` loses it for good. */
type Fault = "none" | "duplicate" | "stale" | "skip" | "gone" | "reset" | "close" | "bookmark" | "list fails";
type Edit = { readonly name: string; readonly kind: "write" | "delete" | "recreate" };

const relistMs = 60_000;
const secrets = { group: "", version: "v1", kind: "Secret", plural: "secrets" };

/** An API server with one kind of object, whose watches suffer the given faults one after the other. */
class ModelServer {
  readonly objects = new Map<string, KubeObject>();
  readonly #events: WatchEvent<KubeObject>[] = [];
  readonly #faults: Fault[];
  #version = 100;
  #wake = Promise.withResolvers<void>();

  constructor(faults: readonly Fault[]) {
    this.#faults = [...faults];
  }

  edit({ name, kind }: Edit): void {
    const before = this.objects.get(name);
    if (kind !== "write" && before !== undefined) {
      this.objects.delete(name);
      this.#record("DELETED", name, before.metadata.uid ?? "");
    }
    if (kind === "delete") return;
    const uid = kind === "write" && before !== undefined ? (before.metadata.uid ?? "") : `uid-${this.#version}`;
    this.objects.set(name, this.#record(before === undefined || kind === "recreate" ? "ADDED" : "MODIFIED", name, uid));
  }

  heal(): void {
    this.#faults.length = 0;
  }

  client(): KubeClient {
    const unused = (): never => {
      throw new Error("an informer only reads");
    };
    const list = async (): Promise<unknown> => {
      await settle();
      if (this.#faults[0] !== "list fails")
        return { items: [...this.objects.values()], resourceVersion: String(this.#version) };
      this.#faults.shift();
      throw new KubeError("transient", "scripted");
    };
    const watch = (_type: unknown, options: WatchOptions): unknown => this.#watch(options);
    return {
      get: unused,
      list: list as KubeClient["list"],
      watch: watch as KubeClient["watch"],
      create: unused,
      replace: unused,
      apply: unused,
      applyStatus: unused,
      delete: unused,
      createToken: unused,
      close: unused,
    };
  }

  async *#watch({ resourceVersion, signal }: WatchOptions): AsyncGenerator<WatchEvent<KubeObject>, void> {
    let position = Number(resourceVersion);
    for (;;) {
      if (signal?.aborted === true) throw new KubeError("aborted", "scripted");
      const next = this.#events.find(({ object }) => Number(object.metadata.resourceVersion) > position);
      if (next === undefined) {
        await Promise.race([this.#wake.promise, settle()]);
        continue;
      }
      const fault = this.#faults.shift() ?? "none";
      if (fault === "gone") throw new KubeError("gone", "scripted");
      if (fault === "reset") throw new KubeError("transient", "scripted");
      if (fault === "close") return;
      position = Number(next.object.metadata.resourceVersion);
      yield* this.#delivered(next, fault);
    }
  }

  #delivered(next: WatchEvent<KubeObject>, fault: Fault): readonly WatchEvent<KubeObject>[] {
    const { resourceVersion = "" } = next.object.metadata;
    const older = this.#events.slice(0, this.#events.indexOf(next)).slice(-3);
    const ways: Partial<Record<Fault, readonly WatchEvent<KubeObject>[]>> = {
      duplicate: [next, next],
      stale: [next, ...older],
      skip: [{ type: "BOOKMARK", object: { metadata: { resourceVersion } } }],
      bookmark: [next, { type: "BOOKMARK", object: { metadata: { resourceVersion } } }],
    };
    return ways[fault] ?? [next];
  }

  #record(type: "ADDED" | "MODIFIED" | "DELETED", name: string, uid: string): KubeObject {
    this.#version += 1;
    const object = { metadata: { namespace: "a", name, uid, resourceVersion: String(this.#version) } };
    this.#events.push({ type, object });
    this.#wake.resolve();
    this.#wake = Promise.withResolvers();
    return object;
  }
}

/** What a reader of the changes alone believes to be true, and where the changes contradict each other. */
function follow(informer: Informer<KubeObject>) {
  const believed = new Map<string, string>();
  const contradictions: string[] = [];
  informer.onChange(({ kind, key, object }) => {
    if (believed.has(key) !== (kind !== "added")) contradictions.push(`${kind} ${key}`);
    if (kind === "deleted") believed.delete(key);
    else believed.set(key, object.metadata.resourceVersion ?? "");
  });
  return { believed, contradictions };
}

function versions(objects: Iterable<KubeObject>): ReadonlyMap<string, string> {
  return new Map([...objects].map((object) => [keyOf(object), object.metadata.resourceVersion ?? ""]));
}

async function until(condition: () => boolean, clock: ManualClock, stepMs: number): Promise<void> {
  for (let steps = 0; steps < 500 && !condition(); steps += 1) await clock.advanceInSteps(stepMs, stepMs);
}

const faults = fc.constantFrom<Fault>(
  "none",
  "duplicate",
  "stale",
  "skip",
  "gone",
  "reset",
  "close",
  "bookmark",
  "list fails",
);
const edits = fc.record({
  name: fc.constantFrom("x", "y", "z"),
  kind: fc.constantFrom<Edit["kind"]>("write", "write", "write", "delete", "recreate"),
});

async function live(faultsGiven: readonly Fault[], steps: readonly (readonly Edit[])[]) {
  const server = new ModelServer(faultsGiven);
  const clock = new ManualClock();
  const metrics = createKubeMetrics(new Registry());
  const log = pino({ level: "silent" });
  const informer = new Informer({
    client: server.client(),
    type: secrets,
    clock,
    random: () => 0,
    relistMs,
    log,
    metrics,
  });
  const told = follow(informer);
  informer.start();
  for (const step of steps) {
    for (const edit of step) server.edit(edit);
    await clock.advanceInSteps(20, 10);
  }
  server.heal();
  const isTrue = (): boolean => isDeepStrictEqual(versions(informer.list()), versions(server.objects.values()));
  return { server, clock, informer, told, isTrue };
}

test("an informer's cache and the calls of its handlers converge to the server's state under any faults of the watch", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(faults, { maxLength: 30 }),
      fc.array(fc.array(edits, { maxLength: 4 }), { maxLength: 8 }),
      async (given, steps) => {
        const { server, clock, informer, told, isTrue } = await live(given, steps);
        await until(isTrue, clock, 1_000);
        // Only a relist finds what was skipped.
        clock.advance(relistMs);
        await until(isTrue, clock, 1_000);
        expect(versions(informer.list())).toEqual(versions(server.objects.values()));
        expect(told).toEqual({ believed: versions(server.objects.values()), contradictions: [] });
        await informer.stop();
        expect(clock.waiting).toBe(0);
      },
    ),
    { numRuns: 60 },
  );
});

test("without skipped events an informer converges without a relist", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(
        faults.filter((fault) => fault !== "skip"),
        { maxLength: 30 },
      ),
      fc.array(fc.array(edits, { maxLength: 4 }), { maxLength: 8 }),
      async (given, steps) => {
        const { server, clock, informer, told, isTrue } = await live(given, steps);
        await until(isTrue, clock, 100);
        expect(told).toEqual({ believed: versions(server.objects.values()), contradictions: [] });
        await informer.stop();
      },
    ),
    { numRuns: 60 },
  );
});
