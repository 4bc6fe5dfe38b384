import { afterEach, describe, expect, test } from "vitest";
import { createStoreSet, type StoreSet } from "../../../runtime/stores/store-set.ts";
import { createStore } from "../../../runtime/stores/store.ts";
import { waitFor } from "../../support/wait.ts";
import { storeConfig } from "../metrics/oracle/universe.ts";
import { healthyProbe, json, startScriptedStore, success, vector, type ScriptedStore, type StoreReply } from "./scripted-store.ts";

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  await Promise.all(closing.splice(0).map((close) => close()));
});

async function start(reply: StoreReply): Promise<ScriptedStore> {
  const store = await startScriptedStore(reply);
  closing.push(() => store.close());
  return store;
}

const probe = healthyProbe(() => undefined);
const configFor = (url: string) => storeConfig({ name: "eu-1", region: "eu", url });

describe("the capabilities of a store", () => {
  const rows = [
    { values: "2", refusesAnchored: false, expected: { boundary: "LeftOpen", anchored: true } },
    { values: "3", refusesAnchored: true, expected: { boundary: "LeftClosed", anchored: false } },
  ] as const;
  test.each(rows)("are $expected.boundary when two seconds hold $values values", async ({ values, refusesAnchored, expected }) => {
    const refusal = json(400, { status: "error", errorType: "bad_data", error: "anchored is not enabled" });
    const { url } = await start((response, request) => {
      const anchored = request.form.get("query")?.includes("anchored") ?? false;
      (anchored && refusesAnchored ? refusal : success(vector(anchored ? "0" : values)))(response, request);
    });
    const store = createStore(configFor(url), Date.now);
    closing.push(() => store.close({ atOnce: true }));
    expect(store.state()).toBe("unknown");
    expect(await store.capabilities()).toEqual(expected);
    expect(store.state()).toBe("ok");
  });

  test("are not guessed: a range that is like no known store's is a failure", async () => {
    const { url } = await start(success(vector("7")));
    const store = createStore(configFor(url), Date.now);
    closing.push(() => store.close({ atOnce: true }));
    await expect(store.capabilities()).rejects.toMatchObject({ kind: "unsupported" });
    expect(store.state()).toBe("failing");
  });

  test("are asked at a whole second, once for all who wait, and again after a minute", async () => {
    let nowMs = 1_000_000_000_500;
    const server = await start(probe);
    const store = createStore(configFor(server.url), () => nowMs);
    closing.push(() => store.close({ atOnce: true }));
    await Promise.all([store.capabilities(), store.capabilities(), store.capabilities()]);
    expect(server.requests.map(({ form }) => form.get("time"))).toEqual(["1000000000.000", "1000000000.000"]);
    nowMs += 59_000;
    await store.capabilities();
    expect(server.requests).toHaveLength(2);
    nowMs += 2_000;
    await store.capabilities();
    await waitFor(() => server.requests.length === 4, { timeoutMs: 2_000, what: "the second probe" });
  });

  test("of a store that was down are asked again by the next who needs them", async () => {
    let down = true;
    const { url } = await start((response, request) => {
      if (down) response.socket?.destroy();
      else probe(response, request);
    });
    const store = createStore(configFor(url), Date.now);
    closing.push(() => store.close({ atOnce: true }));
    await expect(store.capabilities()).rejects.toMatchObject({ kind: "unreachable" });
    down = false;
    expect(await store.capabilities()).toEqual({ boundary: "LeftOpen", anchored: true });
  });
});

describe("a set of stores", () => {
  const setOf = (): StoreSet => {
    const set = createStoreSet(Date.now);
    closing.push(() => set.stop());
    return set;
  };

  test("keeps an unchanged store over a new configuration and replaces a changed one", () => {
    const set = setOf();
    const [a, b] = [configFor("http://127.0.0.1:1"), configFor("http://127.0.0.1:2")];
    set.apply(new Map([["x/y/a", a], ["x/y/b", b]]));
    const before = new Map(set.list());
    set.apply(new Map([["x/y/b", { ...b, settleSeconds: 7 }], ["x/y/a", { ...a }]]));
    expect(set.list().map(([key]) => key)).toEqual(["x/y/a", "x/y/b"]);
    expect(set.get("x/y/a")).toBe(before.get("x/y/a"));
    expect(set.get("x/y/b")).not.toBe(before.get("x/y/b"));
  });

  test("lets a removed store finish what it was asked", async () => {
    let answer: (() => void) | undefined;
    const { url } = await start((response, request) => {
      answer = () => success(vector("5"))(response, request);
    });
    const set = setOf();
    set.apply(new Map([["x/y/a", configFor(url)]]));
    const running = set.get("x/y/a").client.single("up", 0, new AbortController().signal);
    await waitFor(() => answer, { timeoutMs: 2_000, what: "the request" });
    set.apply(new Map());
    answer?.();
    expect(await running).toBe(5);
    expect(() => set.get("x/y/a")).toThrow("no store x/y/a");
  });
});
