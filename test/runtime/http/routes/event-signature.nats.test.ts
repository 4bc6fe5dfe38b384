import { createHash, createHmac, createPublicKey, type JsonWebKey, verify } from "node:crypto";
import { pino } from "pino";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { PartnerConfig } from "../../../../crds/config.ts";
import { webhookRoutes } from "../../../../runtime/http/routes/webhooks.ts";
import { createPublicServer } from "../../../../runtime/http/server/public-server.ts";
import type { Caller } from "../../../../runtime/metrics/authorization/access.ts";
import { type NatsServerHandle, startNatsServer } from "../../../support/nats-server.ts";
import { waitFor } from "../../../support/wait.ts";
import { startWebhookPartner, type WebhookPartnerServer } from "../../../support/webhook-partner.ts";
import {
  configOf,
  eventBytes,
  partnerConfig,
  startEngine,
  type TestEngine,
  testSecret,
} from "../../webhooks/engine-fixture.ts";
import { pemOf, rfcEd25519 } from "../../webhooks/signing/key-material.ts";

const timeoutMs = 20_000;
const privateKey = "default/private-key/pem";
const standardSecret = Buffer.from("another key of at least thirty-two bytes, for tests");
const standardKey = "default/standard-key/secret";

const queryCode = "code-of-the-endpoint";
let server: NatsServerHandle;
let recipient: WebhookPartnerServer;
let engine: TestEngine;
let app: ReturnType<typeof createPublicServer>;
beforeAll(async () => {
  server = await startNatsServer();
  recipient = await startWebhookPartner(({ path, attempt }) => ({
    status: /^\/(?:cloud-)?hmac/u.test(path) && attempt === 1 ? 503 : 200,
  }));
  const named = {
    hmac: { scheme: "HmacV1", keys: [{ id: "k1", material: "default/partner-key/secret" }] },
    standard: { scheme: "StandardWebhooks", keys: [{ id: "whsec-2026", material: standardKey }] },
    message: { scheme: "HttpMessageSignatures", keys: [{ id: "ed-2026", material: privateKey }] },
  } as const;
  const config = configOf(
    ...Object.entries(named).flatMap(([name, signing]) => [
      partner(name, signing),
      { ...partner(`cloud-${name}`, signing), format: "CloudEvents" as const },
    ]),
  );
  const more = {
    [privateKey]: Buffer.from(pemOf(rfcEd25519)).toString("base64"),
    [standardKey]: standardSecret.toString("base64"),
  };
  engine = await startEngine(server.url, { ...config, material: { ...config.material, ...more } });
  app = createPublicServer({
    log: pino({ level: "silent" }),
    observe: () => undefined,
    now: Date.now,
    authenticate: async (authorization) => JSON.parse(authorization ?? "") as Caller,
    routes: webhookRoutes(engine.engine),
  });
  await engine.ingest(eventBytes("evt.1"));
  await engine.ingest(eventBytes("long", { data: { text: "x".repeat(20_000) } }));
  await Promise.all(["evt.1", "long"].map(untilDelivered));
});
afterAll(async () => {
  await app?.close();
  await engine?.stop();
  await recipient?.close();
  await server?.stop();
});

function partner(name: string, signing: PartnerConfig["signing"]): PartnerConfig {
  const query = signing.scheme === "HmacV1" ? "" : `?code=${queryCode}`;
  return partnerConfig(name, new URL(`/${name}/hook${query}`, recipient.url).href, { signing });
}

async function untilDelivered(id: string): Promise<void> {
  const look = async () => {
    const { deliveries = [] } = (await engine.engine.history.event(id, ["*"])) ?? {};
    return (deliveries.length === 6 && deliveries.every(({ state }) => state === "delivered")) || undefined;
  };
  await waitFor(look, { timeoutMs, what: `the deliveries of ${id}` });
}

interface Envelope {
  readonly event_id: string;
  readonly ts: string;
  readonly producer?: string;
}

interface Signed {
  readonly scheme: string;
  readonly key_ids: readonly string[];
  readonly canonical: string | null;
  readonly canonical_reason: string | null;
  readonly headers: Readonly<Record<string, string>>;
}

interface Shown {
  readonly accepted_at: string;
  readonly deliveries: readonly {
    readonly partner: string;
    readonly generation: number;
    readonly attempts: readonly { readonly attempt: number; readonly settlement: object; readonly signed: Signed }[];
  }[];
}

const admin = { scopes: ["webhooks:read", "admin:debug"] };
const tenant = { scopes: ["webhooks:read"], tenants: ["acme"] };
const ofPartners = { scopes: ["webhooks:read"], partners: ["default/hmac", "default/message", "default/standard"] };

async function shown(id: string, claims: Partial<Caller>): Promise<Shown> {
  const everything = { client: "c", tenants: ["*"], regions: [], environments: [], metrics: [], roles: [] };
  const headers = { authorization: JSON.stringify({ ...everything, ...claims }) };
  const response = await app.inject({ url: `/webhooks/events/${id}`, headers });
  expect(response.statusCode).toBe(200);
  return response.json<Shown>();
}

const deliveryTo = ({ deliveries }: Shown, name: string) => {
  const found = deliveries.find((delivery) => delivery.partner === `default/${name}`);
  if (found === undefined) throw new Error(`no delivery to ${name}`);
  return found;
};
const signedFor = (history: Shown, name: string): Signed => {
  const signed = deliveryTo(history, name).attempts.at(-1)?.signed;
  if (signed === undefined) throw new Error(`nothing signed for ${name}`);
  return signed;
};
const hmac = (key: Buffer, text: string): string => createHmac("sha256", key).update(text).digest("base64");

describe("the history of an event", () => {
  test.each([
    ["an administrator", admin],
    ["the partner", ofPartners],
  ])("lets %s verify a HmacV1 signature by hand", async (_, claims) => {
    const { canonical, key_ids: ids, headers } = signedFor(await shown("evt.1", claims), "hmac");
    expect(ids).toEqual(["k1"]);
    expect(headers["X-Signature"]).toBe(`v1=${hmac(testSecret, canonical ?? "")}`);
    expect(canonical?.split("\n").slice(0, 3)).toEqual([headers["X-Timestamp"], "POST", "/hmac/hook"]);
    const sent = recipient.of("evt.1").findLast(({ path }) => path === "/hmac/hook");
    expect([sent?.headers["x-signature"], sent?.headers["x-timestamp"]]).toEqual([
      headers["X-Signature"],
      headers["X-Timestamp"],
    ]);
  });

  test("lets every caller verify a Standard Webhooks signature by hand", async () => {
    for (const claims of [admin, ofPartners, tenant]) {
      const { canonical, key_ids: ids, headers } = signedFor(await shown("evt.1", claims), "standard");
      expect(ids).toEqual(["whsec-2026"]);
      expect(headers["webhook-signature"]).toBe(`v1,${hmac(standardSecret, canonical ?? "")}`);
      expect(canonical?.startsWith(`evt%2E1.${headers["webhook-timestamp"]}.{"event_id"`)).toBe(true);
    }
  });

  test("lets the partner verify an HTTP message signature with the public key that is served", async () => {
    const { canonical, key_ids: ids, headers } = signedFor(await shown("evt.1", ofPartners), "message");
    const served = await app.inject({ url: "/webhooks/partners/default/message/jwks.json" });
    const [key] = served.json<{ readonly keys: readonly (JsonWebKey & { readonly kid: string })[] }>().keys;
    if (key === undefined) throw new Error("no key is served");
    const signature = Buffer.from(
      /:(?<base64>.*):/u.exec(headers["Signature"] ?? "")?.groups?.["base64"] ?? "",
      "base64",
    );
    expect(canonical).toContain('\n"@query": ?***\n');
    const signed = canonical?.replace("?***", `?code=${queryCode}`) ?? "";
    expect(verify(null, Buffer.from(signed), createPublicKey({ key, format: "jwk" }), signature)).toBe(true);
    expect([ids, headers["Signature-Input"]?.includes(key.kid)]).toEqual([["ed-2026"], true]);
    expect(canonical).toContain('"@path": /message/hook');
  });

  test("has the body of a CloudEvent as it was signed, by every scheme and for each attempt", async () => {
    const { event_id: id, ts: time, producer, ...rest } = JSON.parse(eventBytes("evt.1").toString()) as Envelope;
    const history = await shown("evt.1", admin);
    const textOf = (name: string) => signedFor(history, `cloud-${name}`).canonical ?? "";
    const sentTo = (name: string) => {
      const sent = recipient.of("evt.1").findLast(({ path }) => path.startsWith(`/cloud-${name}/hook`));
      return { type: sent?.headers["content-type"], body: sent?.body.toString() ?? "" };
    };
    for (const [name, attempt] of Object.entries({ hmac: 2, standard: 1, message: 1 })) {
      const { type, body } = sentTo(name);
      expect(type).toBe("application/cloudevents+json; charset=utf-8");
      const source = producer ?? "heliograph";
      const attributes = { specversion: "1.0", id, time, source, datacontenttype: "application/json", attempt };
      expect(JSON.parse(body)).toEqual({ ...attributes, ...rest });
    }
    const sha256 = createHash("sha256").update(sentTo("hmac").body);
    expect(textOf("hmac").endsWith(sha256.digest("hex"))).toBe(true);
    expect(signedFor(history, "cloud-hmac").headers["X-Signature"]).toBe(`v1=${hmac(testSecret, textOf("hmac"))}`);
    expect(textOf("standard").endsWith(`.${sentTo("standard").body}`)).toBe(true);
    const digest = createHash("sha256").update(sentTo("message").body).digest("base64");
    expect(textOf("message")).toContain(`"content-digest": sha-256=:${digest}:\n`);
    expect(textOf("message")).toContain('"content-type": application/cloudevents+json; charset=utf-8\n');
    expect(sentTo("hmac").body).not.toBe("");
    expect(recipient.of("evt.1").find(({ path }) => path === "/hmac/hook")?.headers["content-type"]).toBe(
      "application/json",
    );
  });

  test("shows nobody the query of an endpoint", async () => {
    for (const claims of [admin, ofPartners, tenant]) {
      const history = await shown("evt.1", claims);
      expect(JSON.stringify(history)).not.toContain(queryCode);
    }
    expect(recipient.of("evt.1").map(({ path }) => path)).toContain(`/standard/hook?code=${queryCode}`);
  });

  test("shows a token of a tenant no URL of a partner", async () => {
    const history = await shown("evt.1", tenant);
    const texts = ["hmac", "message", "standard"].map((name) => signedFor(history, name));
    expect(texts.map(({ canonical_reason: reason }) => reason)).toEqual(["url_hidden", "url_hidden", null]);
    expect(texts[0]?.canonical?.split("\n").slice(1, 3)).toEqual(["POST", "/***"]);
    expect(texts[1]?.canonical).toContain('"@authority": hidden.invalid\n"@path": /***\n"@query": ?***\n');
    expect(JSON.stringify(history)).not.toMatch(/\/hook|127\.0\.0\.1/u);
    expect(signedFor(history, "hmac").headers["X-Signature"]).toMatch(/^v1=/u);
  });

  test("holds no text over a long event, unless the scheme signs its digest", async () => {
    const history = await shown("long", admin);
    expect(signedFor(history, "standard").canonical).toBeNull();
    expect(signedFor(history, "hmac").headers["X-Signature"]).toBe(
      `v1=${hmac(testSecret, signedFor(history, "hmac").canonical ?? "")}`,
    );
  });

  test("says when the event was accepted, how each attempt settled, and the generation", async () => {
    const history = await shown("evt.1", admin);
    expect(Math.abs(Date.parse(history.accepted_at) - Date.now())).toBeLessThan(10 * 60_000);
    const { attempts, generation } = deliveryTo(history, "hmac");
    expect(generation).toBe(0);
    expect(attempts.map(({ settlement }) => settlement)).toEqual([
      { kind: "retry", at: expect.stringMatching(/^\d{4}-.*Z$/u) },
      { kind: "delivered" },
    ]);
    expect(new Set(attempts.map(({ signed }) => signed.headers["X-Signature"])).size).toBe(2);
    const body = Buffer.from(JSON.stringify({ event_ids: ["evt.1"], partners: ["default/standard"] }));
    await engine.engine.replays.replay(body, { client: "support", tenants: ["*"] });
    const replayed = async () => {
      const delivery = deliveryTo(await shown("evt.1", admin), "standard");
      return delivery.attempts.length === 2 ? delivery : undefined;
    };
    const delivery = await waitFor(replayed, { timeoutMs, what: "the replay" });
    expect(delivery.generation).toBe(1);
    const [first, second] = delivery.attempts.map(({ signed }) => signed);
    expect(first?.canonical).not.toBe(second?.canonical);
    expect(second?.headers["webhook-signature"]).toBe(`v1,${hmac(standardSecret, second?.canonical ?? "")}`);
  });
});
