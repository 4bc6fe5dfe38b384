import { afterEach, describe, expect, test } from "vitest";
import { success, text, type StoreReply } from "../../stores/scripted-store.ts";
import { simulated, startMetricsServer, type HttpAnswer, type ScriptedMetricsServer } from "./metrics-server.ts";

/** Public views of objectives, asked by callers who pay for nothing (Operational Metrics API §4.5 and §8). */

const startMs = Date.parse("2026-01-01T12:00:00Z");
const view = "/v1/metrics/slo?tenant=brand-a";

interface Serving {
  readonly server: ScriptedMetricsServer;
  readonly state: { nowMs: number; elapsedMs: number; isDown: boolean };
  readonly ask: (url: string) => Promise<HttpAnswer>;
  /** Requests about the objective's metric that the store was sent. */
  readonly asked: () => number;
}

const closing: ScriptedMetricsServer[] = [];
afterEach(async () => {
  await Promise.all(closing.splice(0).map((server) => server.close()));
});

/** A store whose series are those of the environment prod. */
async function start(): Promise<Serving> {
  const state = { nowMs: startMs, elapsedMs: 0, isDown: false };
  const usual = simulated(() => ({ services: ["a"] }));
  const store: StoreReply = (response, request) => {
    const query = request.form.get("query") ?? "";
    if (state.isDown) return text(500, "no")(response, request);
    const label = /^max by\((\w+)\)\(count_over_time/u.exec(query)?.[1];
    if (label !== undefined) {
      return success({
        resultType: "vector",
        result: [{ metric: { [label]: "prod" }, value: [startMs / 1_000, "9"] }],
      })(response, request);
    }
    return usual(response, request);
  };
  const server = await startMetricsServer({ eu: store }, { now: () => state.nowMs, elapsed: () => state.elapsedMs });
  closing.push(server);
  const asked = (): number =>
    server.stores.flatMap(({ requests }) => requests).filter(({ form }) => form.get("query")?.includes("logins_total"))
      .length;
  return { server, state, ask: (url) => server.get(url, {}), asked };
}

const dataOf = (answer: HttpAnswer): readonly unknown[] =>
  (answer.json() as { readonly data: readonly unknown[] }).data;

describe("views without a token", () => {
  test("of a made-up environment are empty, and hundreds of them cost one question to the store", async () => {
    const { state, ask, asked } = await start();
    const answers: HttpAnswer[] = [];
    for (let index = 0; index < 300; index += 1) {
      state.elapsedMs += 100;
      answers.push(await ask(`${view}&environment=made-up-${index}`));
    }
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect(answers.flatMap(dataOf)).toEqual([]);
    expect(asked()).toBe(1);
  });

  test("of an environment that the store holds are read once, however many callers there are", async () => {
    const { ask, asked } = await start();
    const first = await ask(`${view}&environment=prod`);
    expect(dataOf(first)).toMatchObject([{ name: "login" }]);
    const reads = asked();
    const more = await Promise.all(Array.from({ length: 20 }, () => ask(`${view}&environment=prod`)));
    expect(more.every(({ text: body }) => body === first.text)).toBe(true);
    expect(asked()).toBe(reads);
  });

  test("of a tenant without a public objective are empty and query no store", async () => {
    const { ask, asked } = await start();
    const answers = await Promise.all(["brand-b", "made-up"].map((tenant) => ask(`/v1/metrics/slo?tenant=${tenant}`)));
    expect(answers.map((answer) => [answer.status, dataOf(answer)])).toEqual([
      [200, []],
      [200, []],
    ]);
    expect(asked()).toBe(0);
  });

  test("of an objective that names no public tenant are empty", async () => {
    const { server, ask } = await start();
    const { config } = server;
    server.apply({
      ...config,
      catalogs: config.catalogs.map((catalog) => ({
        ...catalog,
        slos: catalog.slos.map(({ publicTenants: _none, ...slo }) => slo),
      })),
    });
    expect(dataOf(await ask(view))).toEqual([]);
  });

  test("are refused with 429 beyond ten a second of one network, unless they have a token", async () => {
    const { server, ask } = await start();
    const answers = await Promise.all(Array.from({ length: 100 }, () => ask(view)));
    const refused = answers.filter(({ status }) => status === 429);
    expect(refused.length).toBe(100 - 40);
    expect(refused[0]?.json()).toMatchObject({ code: "too_many_requests" });
    expect(refused[0]?.headers["retry-after"]).toBe("1");
    expect((await server.get(view)).status).toBe(200);
  });

  test("spend one common quota when stores must be queried, and nothing otherwise", async () => {
    const { server, state, ask, asked } = await start();
    const { classDefaults } = server.config;
    const limited = Object.fromEntries(
      Object.entries(classDefaults).map(([name, limits]) => [name, { ...limits, requestsPerSecond: 1, burst: 1 }]),
    );
    server.apply({ ...server.config, classDefaults: limited as typeof classDefaults });
    expect((await ask(view)).status).toBe(200);
    expect((await ask(view)).status).toBe(200);
    const reads = asked();
    // The reading is too old, and there is no token left for another.
    state.nowMs += 31_000;
    const refused = await ask(view);
    expect([refused.status, (refused.json() as { readonly code: string }).code]).toEqual([429, "rate_exceeded"]);
    expect(asked()).toBe(reads);
    state.elapsedMs += 1_000;
    expect((await ask(view)).status).toBe(200);
  });

  test("report a failed store while its environments cannot be read", async () => {
    const { state, ask } = await start();
    state.isDown = true;
    expect((await ask(`${view}&environment=prod`)).status).toBe(502);
  });
});
