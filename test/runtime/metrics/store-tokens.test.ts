import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import type { PrometheusConfig, RuntimeConfig } from "../../../crds/config.ts";
import { temporaryFolder } from "../../support/temp-folder.ts";
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

type Auth = NonNullable<PrometheusConfig["auth"]>;
const clientOf = (tokenUrl: string): Auth => ({ kind: "oauth2", tokenUrl, clientId: "reader", secret: "id" });
const roleOf = (name: string): Auth => {
  return { kind: "awsRole", region: "eu-west-1", roleArn: `arn:aws:iam::123456789012:role/${name}` };
};

/** A catalog with a store for each authorization: `eu`, then `us`. */
async function configWith(...auths: readonly Auth[]): Promise<RuntimeConfig> {
  const url = await serve(healthyProbe(oneAtItsTime));
  const configs = auths.map((auth, index) => {
    const name = index === 0 ? "eu" : "us";
    const store = storeConfig({ name, region: name, url });
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
    server.apply(await configWith(clientOf(await serve(granting)), clientOf(await serve(reply))));
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

const accepted = "<Credentials><AccessKeyId>ASIA1</AccessKeyId><SecretAccessKey>s</SecretAccessKey>";
const grantingKeys: StoreReply = (response) => {
  const expiration = new Date(Date.now() + 3_600_000).toISOString();
  const rest = `<SessionToken>t</SessionToken><Expiration>${expiration}</Expiration></Credentials>`;
  response.writeHead(200, { "content-type": "text/xml" }).end(`${accepted}${rest}`);
};
const rejecting =
  (status: number, code: string): StoreReply =>
  (response) =>
    void response.writeHead(status).end(`<ErrorResponse><Error><Code>${code}</Code></Error></ErrorResponse>`);

describe("the Security Token Service", () => {
  test.each<readonly [what: string, reply: StoreReply, state: string]>([
    ["hangs", () => undefined, "late"],
    ["rejects the role", rejecting(403, "AccessDenied"), "failed"],
    ["throttles", rejecting(400, "Throttling"), "failed"],
    ["fails", rejecting(503, "ServiceUnavailable"), "failed"],
  ])("makes only the region partial whose role it %s", async (_what, reply, state) => {
    const folder = await temporaryFolder("web-identity");
    closing.push(() => folder.remove());
    const tokenFile = join(folder.path, "token");
    await writeFile(tokenFile, "a.web.token");
    const stsUrl = await serve((response, request) =>
      (request.form.get("RoleArn")?.endsWith("/us") ? reply : grantingKeys)(response, request),
    );
    const server = metricsServerOver({}, { now: Date.now, deadlineMs: 600, webIdentity: { tokenFile, stsUrl } });
    closing.push(() => server.close());
    server.apply(await configWith(roleOf("eu"), roleOf("us")));
    const { status, json: body } = await server.get(path);
    const { data, meta } = body() as {
      readonly data: readonly { readonly labels: object }[];
      readonly meta: { readonly partial: boolean; readonly regions: readonly { region: string; state: string }[] };
    };
    expect(status).toBe(206);
    expect(data).toEqual([expect.objectContaining({ labels: { region: "eu" } })]);
    expect(meta.partial).toBe(true);
    expect(meta.regions.map((own) => [own.region, own.state])).toEqual([
      ["eu", "ok"],
      ["us", state],
    ]);
    expect(JSON.stringify(meta)).not.toMatch(/a\.web\.token|arn:aws|sts/iu);
  });
});
