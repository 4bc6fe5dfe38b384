import { isDeepStrictEqual } from "node:util";
import * as fc from "fast-check";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { Informer, type InformerOptions } from "../../../kube/informer/informer.ts";
import { keyOf, type KubeObject } from "../../../kube/client/resource.ts";
import { waitFor } from "../../support/wait.ts";
import { type ConfigMap, type RealApi, configMaps, log, secrets, startRealApi } from "../real-api.ts";

let api: RealApi;
const running: Informer<KubeObject>[] = [];
beforeAll(async () => {
  api = await startRealApi();
});
afterEach(async () => {
  await Promise.all(running.splice(0).map((informer) => informer.stop()));
});
afterAll(() => api.stop());

function start<T extends KubeObject>(options: Partial<InformerOptions<T>>): Informer<T> {
  const { client, metrics } = api;
  const backoff = { baseMs: 5, maxMs: 50, jitter: 0.3 };
  const informer = new Informer<T>({ client, type: configMaps, metrics, log, backoff, ...options });
  running.push(informer as unknown as Informer<KubeObject>);
  informer.start();
  return informer;
}

async function namespace(name: string): Promise<string> {
  const type = { group: "", version: "v1", kind: "Namespace", plural: "namespaces" };
  await api.client.apply(type, { metadata: { name } }, { fieldManager: "test" });
  return name;
}

/** What the API server holds: key → resource version. */
async function truth(space: string): Promise<ReadonlyMap<string, string>> {
  return versions((await api.client.list(configMaps, { namespace: space })).items);
}

function versions(objects: readonly KubeObject[]): ReadonlyMap<string, string> {
  return new Map(objects.map((object) => [keyOf(object), object.metadata.resourceVersion ?? ""]));
}

async function becomesTrue(informer: Informer<ConfigMap>, space: string): Promise<void> {
  const is = async (): Promise<boolean> => isDeepStrictEqual(versions(informer.list()), await truth(space));
  await waitFor(is, { timeoutMs: 60_000, what: "the cache to hold the truth" });
}

interface Edit {
  readonly name: string;
  readonly kind: "write" | "delete";
}

async function applyEdit(space: string, { name, kind }: Edit, value: number): Promise<void> {
  const ref = { namespace: space, name };
  if (kind === "write") {
    await api.client.apply<ConfigMap>(
      configMaps,
      { metadata: ref, data: { value: `${value}` } },
      { fieldManager: "test" },
    );
  } else await api.client.delete(configMaps, ref).catch(() => undefined);
}

const edits = fc.array(
  fc.record({
    name: fc.constantFrom("a", "b", "c", "d"),
    kind: fc.constantFrom<Edit["kind"]>("write", "write", "delete"),
  }),
  {
    minLength: 20,
    maxLength: 60,
  },
);

describe("an informer on a real API server", () => {
  test("converges under random edits by several writers at once", async () => {
    const space = await namespace("random");
    const informer = start<ConfigMap>({ namespace: space });
    await informer.whenSynced();
    await fc.assert(
      fc.asyncProperty(edits, edits, async (one, two) => {
        const write = async (all: readonly Edit[]): Promise<void> => {
          for (const [value, edit] of all.entries()) await applyEdit(space, edit, value);
        };
        await Promise.all([write(one), write(two)]);
        await becomesTrue(informer, space);
      }),
      { numRuns: 5 },
    );
    expect(versions(informer.list())).toEqual(await truth(space));
  });

  test("misses no edit while its watch is cut 100 times, and lists only once", async () => {
    const space = await namespace("cut");
    const informer = start<ConfigMap>({ namespace: space });
    const seen = new Set<string>();
    informer.onChange(({ object }) => void seen.add(object.data?.["value"] ?? ""));
    await informer.whenSynced();
    const lists = await listCount();
    for (let round = 0; round < 100; round += 1) {
      await applyEdit(space, { name: `edited-${round % 7}`, kind: "write" }, round);
      api.proxy.cut();
      await waitFor(() => seen.has(`${round}`), { timeoutMs: 60_000, what: `edit ${round}`, pollMs: 2 });
    }
    await becomesTrue(informer, space);
    expect(await listCount()).toBe(lists);
    expect(await api.metrics.staleEvents.get()).toMatchObject({ values: [] });
  });

  test("of Secrets, metadata only, sees every change and no data", async () => {
    const space = await namespace("secrets");
    const heard: string[] = [];
    const informer = start<KubeObject>({ type: secrets, namespace: space, metadataOnly: true });
    informer.onChange((change) => void heard.push(JSON.stringify(change)));
    await informer.whenSynced();
    const secret = (value: string) => ({ metadata: { namespace: space, name: "key" }, stringData: { key: value } });
    await api.client.apply(secrets, secret("not-to-be-seen-1"), { fieldManager: "test" });
    await api.client.apply(secrets, secret("not-to-be-seen-2"), { fieldManager: "test" });
    await waitFor(() => heard.length === 2, { timeoutMs: 60_000, what: "both changes" });
    for (const value of ["not-to-be-seen-1", "not-to-be-seen-2"]) {
      expect(heard.join()).not.toContain(value);
      expect(heard.join()).not.toContain(Buffer.from(value).toString("base64"));
    }
    expect(informer.get(`${space}/key`)).toMatchObject({ kind: "PartialObjectMetadata", metadata: { name: "key" } });
  });

  test("forgets an object that no longer matches its label selector", async () => {
    const space = await namespace("labels");
    const informer = start<ConfigMap>({ namespace: space, labelSelector: "app=mine" });
    await informer.whenSynced();
    const labelled = (app: string): ConfigMap => ({ metadata: { namespace: space, name: "one", labels: { app } } });
    await api.client.apply(configMaps, labelled("mine"), { fieldManager: "test" });
    await waitFor(() => informer.get(`${space}/one`), { timeoutMs: 60_000, what: "the object" });
    await api.client.apply(configMaps, labelled("other"), { fieldManager: "test" });
    await waitFor(() => informer.get(`${space}/one`) === undefined, { timeoutMs: 60_000, what: "the object to go" });
    expect(await truth(space)).toHaveProperty("size", 1);
  });

  test("reads 1,200 objects in pages and follows them", async () => {
    const space = await namespace("many");
    const names = Array.from({ length: 1_200 }, (_, index) => `object-${index}`);
    const create = (name: string) => api.client.create<ConfigMap>(configMaps, { metadata: { namespace: space, name } });
    for (let from = 0; from < names.length; from += 50) await Promise.all(names.slice(from, from + 50).map(create));
    const informer = start<ConfigMap>({ namespace: space });
    await informer.whenSynced();
    expect(informer.list()).toHaveLength(1_200);
    await applyEdit(space, { name: "object-7", kind: "write" }, 8);
    await becomesTrue(informer, space);
  });

  test("waits for a kind that is not served yet", async () => {
    const gadgets = { group: "test.heliograph.dev", version: "v1", kind: "Gadget", plural: "gadgets" };
    const informer = start<KubeObject>({ type: gadgets });
    await waitFor(() => informer.health().lastError?.includes("404"), {
      timeoutMs: 60_000,
      what: "the error in the health",
    });
    expect(informer.health().synced).toBe(false);
  });
});

async function listCount(): Promise<number> {
  const { values } = await api.metrics.lists.get();
  return values.reduce((sum, { value }) => sum + value, 0);
}
