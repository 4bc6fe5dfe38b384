import { afterEach, describe, expect, test } from "vitest";
import type { StoreConfig } from "../../../crds/config.ts";
import { createPeerClient } from "../../../runtime/metrics/federation/peer-client.ts";
import { createStore, createStoreSet, type Store, type StoreSet } from "../../../runtime/stores/store.ts";
import { waitFor } from "../../support/wait.ts";
import { storeConfig } from "../metrics/oracle/universe.ts";
import {
  healthyProbe,
  type ScriptedStore,
  startScriptedStore,
  type StoreReply,
  success,
  vector,
} from "./scripted-store.ts";
import { storeCall } from "./store-call.ts";

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
const storeOf = (config: StoreConfig, now: () => number = Date.now): Store =>
  createStore({ config, material: {}, identity: "store", now, makePeerClient: createPeerClient });

describe("the capabilities of a store", () => {
  const rows = [
    { answers: {}, expected: { boundary: "LeftOpen", increases: "Extrapolated", anchored: true, native: true } },
    {
      answers: { counted: "3", anchored: false, native: false },
      expected: { boundary: "LeftClosed", increases: "Extrapolated", anchored: false, native: false },
    },
  ] as const;
  test.each(rows)("are $expected when the results of the probe are $answers", async ({ answers, expected }) => {
    const { url } = await start(healthyProbe(() => undefined, answers));
    const store = storeOf(configFor(url));
    closing.push(() => store.close({ atOnce: true }));
    expect(store.state()).toBe("unknown");
    expect(await store.capabilities()).toEqual(expected);
    expect(store.state()).toBe("ok");
  });

  test("must be those of its flavour: increases by another rule are a failure", async () => {
    const { url } = await start(healthyProbe(() => undefined, { increased: "30" }));
    const config = configFor(url);
    const victoria = { ...config, prometheus: { ...config.prometheus, flavour: "VictoriaMetrics" } } as const;
    const wrong = storeOf(config);
    const right = storeOf(victoria);
    closing.push(
      () => wrong.close({ atOnce: true }),
      () => right.close({ atOnce: true }),
    );
    await expect(wrong.capabilities()).rejects.toMatchObject({ kind: "unsupported" });
    await expect(right.capabilities()).resolves.toMatchObject({ increases: "Plain" });
  });

  test("are not guessed: an unknown kind of range is a failure", async () => {
    const { url } = await start(success(vector("7")));
    const store = storeOf(configFor(url));
    closing.push(() => store.close({ atOnce: true }));
    await expect(store.capabilities()).rejects.toMatchObject({ kind: "unsupported" });
    expect(store.state()).toBe("failing");
  });

  test("are probed at a whole minute, once for all concurrent callers, and again after a minute", async () => {
    let nowMs = 1_000_000_000_500;
    const server = await start(probe);
    const store = storeOf(configFor(server.url), () => nowMs);
    closing.push(() => store.close({ atOnce: true }));
    await Promise.all([store.capabilities(), store.capabilities(), store.capabilities()]);
    expect(server.requests.map(({ form }) => form.get("time"))).toEqual(Array(4).fill("999999960.000"));
    nowMs += 59_000;
    await store.capabilities();
    expect(server.requests).toHaveLength(4);
    nowMs += 2_000;
    await store.capabilities();
    await waitFor(() => server.requests.length === 8, { timeoutMs: 20_000, what: "the second probe" });
  });

  test("of a store that was down are probed again for the next caller", async () => {
    let down = true;
    const { url } = await start((response, request) => {
      if (down) response.socket?.destroy();
      else probe(response, request);
    });
    const store = storeOf(configFor(url));
    closing.push(() => store.close({ atOnce: true }));
    await expect(store.capabilities()).rejects.toMatchObject({ kind: "unreachable" });
    down = false;
    expect(await store.capabilities()).toMatchObject({ boundary: "LeftOpen", anchored: true });
  });
});

describe("a store that is down", () => {
  test("gets no requests and is reported as failing, even while its results are cached", async () => {
    let down = false;
    const { url } = await start((response, request) => {
      if (down) response.socket?.destroy();
      else success(vector("5"))(response, request);
    });
    const store = storeOf(configFor(url));
    closing.push(() => store.close({ atOnce: true }));
    const ask = () => store.run(() => store.client.single("up", 0, storeCall()));
    const look = () => store.run(async () => "known");
    expect([await ask(), store.state()]).toEqual([5, "ok"]);
    down = true;
    for (let failures = 0; failures < 4; failures += 1) {
      await expect(ask()).rejects.toMatchObject({ kind: "unreachable" });
      expect([await look(), store.state()]).toEqual(["known", "failing"]);
    }
    await expect(ask()).rejects.toMatchObject({ kind: "unreachable" });
    await expect(ask()).rejects.toMatchObject({ kind: "resting" });
  });
});

describe("a set of stores", () => {
  const setOf = (): StoreSet => {
    const set = createStoreSet(Date.now, createPeerClient);
    closing.push(() => set.stop());
    return set;
  };

  test("keeps an unchanged store under a new configuration and replaces a changed one", () => {
    const set = setOf();
    const [a, b] = [configFor("http://127.0.0.1:1"), configFor("http://127.0.0.1:2")];
    set.apply(
      new Map([
        ["x/y/a", a],
        ["x/y/b", b],
      ]),
      {},
    );
    const before = new Map(set.list());
    set.apply(
      new Map([
        ["x/y/b", { ...b, settleSeconds: 7 }],
        ["x/y/a", { ...a }],
      ]),
      {},
    );
    expect(set.list().map(([key]) => key)).toEqual(["x/y/a", "x/y/b"]);
    expect(set.get("x/y/a")).toBe(before.get("x/y/a"));
    expect(set.get("x/y/b")).not.toBe(before.get("x/y/b"));
  });

  test("replaces the connections of a store with a changed Secret only", () => {
    const set = setOf();
    const open = configFor("http://127.0.0.1:1");
    const locked = {
      ...open,
      prometheus: { ...open.prometheus, auth: { kind: "bearer", token: "n/s/token@1" } },
    } as const;
    const configs = new Map<string, StoreConfig>([
      ["x/y/locked", locked],
      ["x/y/open", open],
    ]);
    set.apply(configs, { "n/s/token@1": "b25l" });
    const before = new Map(set.list());
    set.apply(configs, { "n/s/token@1": "b25l", "n/other/token@1": "eA==" });
    expect(set.list()).toEqual([...before]);
    set.apply(configs, { "n/s/token@1": "dHdv" });
    expect(set.get("x/y/locked")).not.toBe(before.get("x/y/locked"));
    expect(set.get("x/y/open")).toBe(before.get("x/y/open"));
  });

  test("lets a removed store end its running requests", async () => {
    let answer: (() => void) | undefined;
    const { url } = await start((response, request) => {
      answer = () => success(vector("5"))(response, request);
    });
    const set = setOf();
    set.apply(new Map([["x/y/a", configFor(url)]]), {});
    const running = set.get("x/y/a").client.single("up", 0, storeCall());
    await waitFor(() => answer, { timeoutMs: 20_000, what: "the request" });
    set.apply(new Map(), {});
    answer?.();
    expect(await running).toBe(5);
    expect(() => set.get("x/y/a")).toThrow("no store x/y/a");
  });
});
