import { afterEach, describe, expect, test } from "vitest";
import type { RuntimeConfig } from "../../../crds/config.ts";
import { metricsServerOver } from "../http/routes/metrics-server.ts";
import { healthyProbe, json, type StoreReply, startScriptedStore, success } from "../stores/scripted-store.ts";
import { configOf, metricConfig, storeConfig } from "./oracle/universe.ts";

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  await Promise.all(closing.splice(0).map((close) => close()));
});

async function serve(reply: StoreReply): Promise<string> {
  const server = await startScriptedStore(reply);
  closing.push(() => server.close());
  return server.url;
}

/** A catalog with a store for each token server: `eu`, then `us`. */
async function configWith(...tokenUrls: readonly string[]): Promise<RuntimeConfig> {
  const url = await serve(healthyProbe(oneAtItsTime));
  const configs = tokenUrls.map((tokenUrl, index) => {
    const name = index === 0 ? "eu" : "us";
    const store = storeConfig({ name, region: name, url });
    const auth = { kind: "oauth2", tokenUrl, clientId: "reader", secret: "id" } as const;
    return { ...store, prometheus: { ...store.prometheus, auth } };
  });
  const metrics = [metricConfig("lag", configs, { source: { kind: "gauge", name: "lag", matchers: [] } })];
  return { ...configOf(configs, metrics), material: { id: Buffer.from("s3cret").toString("base64") } };
}

/** One series whose sample has the time of the query. */
const oneAtItsTime: StoreReply = (response, request) => {
  const value = [Number(request.form.get("time")), "1"];
  success({ resultType: "vector", result: [{ metric: {}, value }] })(response, request);
};
const granting = json(200, { access_token: "t1", expires_in: 3_600 });
const path = "/v1/metrics/instant?metric=lag&filter%5Btenant%5D=brand-a&group_by=region&agg=sum";

describe("a token server", () => {
  test.each<readonly [what: string, reply: StoreReply]>([
    ["that hangs", () => undefined],
    ["that rejects the client", json(401, { error: "invalid_client" })],
  ])("%s makes only its own region partial", async (_what, reply) => {
    const server = metricsServerOver({}, { now: Date.now, deadlineMs: 600 });
    closing.push(() => server.close());
    server.apply(await configWith(await serve(granting), await serve(reply)));
    const startedAtMs = performance.now();
    const { status, json: body } = await server.get(path);
    const took = performance.now() - startedAtMs;
    const text = JSON.stringify(body());
    expect(status).toBe(206);
    expect(text).toContain('"eu"');
    expect(text).not.toContain("s3cret");
    expect(text).toMatch(/partial/u);
    expect(took).toBeLessThan(5_000);
  });
});
