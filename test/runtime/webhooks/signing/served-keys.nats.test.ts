import { createPublicKey, type JsonWebKey } from "node:crypto";
import { pino } from "pino";
import { expect, test } from "vitest";
import { createPublicServer } from "../../../../runtime/http/server/public-server.ts";
import { webhookRoutes } from "../../../../runtime/http/routes/webhooks.ts";
import { schemes } from "../../../../runtime/webhooks/signing/schemes.ts";
import { startNatsServer } from "../../../support/nats-server.ts";
import { waitFor } from "../../../support/wait.ts";
import { startWebhookPartner } from "../../../support/webhook-partner.ts";
import { configOf, eventBytes, partnerConfig, startEngine } from "../engine-fixture.ts";
import { pemOf, rfcEd25519, rfcP256 } from "./key-material.ts";

const timeoutMs = 20_000;

test("a recipient verifies RFC 9421 deliveries with the keys served without a token, old and new side by side", async ({
  onTestFinished,
}) => {
  const nats = await startNatsServer();
  onTestFinished(() => nats.stop());
  const partner = await startWebhookPartner();
  onTestFinished(() => partner.close());
  const keys = [
    { id: "new", material: "new" },
    { id: "old", material: "old", notAfterMs: Date.now() + 3_600_000 },
  ];
  const signing = { scheme: "HttpMessageSignatures", sideBySide: true, keys } as const;
  const config = configOf({ ...partnerConfig("one", partner.url), signing });
  const base64 = (pem: string): string => Buffer.from(pem).toString("base64");
  const material = { new: base64(pemOf(rfcEd25519)), old: base64(pemOf(rfcP256)) };
  const it = await startEngine(nats.url, { ...config, material });
  onTestFinished(it.stop);
  const app = createPublicServer({
    log: pino({ level: "silent" }),
    observe: () => undefined,
    now: Date.now,
    authenticate: () => Promise.reject(new Error("no token is looked at")),
    routes: webhookRoutes(it.engine),
  });
  onTestFinished(async () => app.close());
  const served = await app.inject({ url: "/webhooks/partners/default/one/jwks.json" });
  expect([served.statusCode, served.headers["cache-control"]]).toEqual([200, "public, max-age=60, must-revalidate"]);
  const known = served
    .json<{ readonly keys: readonly (JsonWebKey & { readonly kid: string })[] }>()
    .keys.map((key) => ({ id: key.kid, publicKey: createPublicKey({ key, format: "jwk" }) }));
  expect(known).toHaveLength(2);
  await it.ingest(eventBytes("e-1"));
  const { path, headers, body } = await waitFor(() => partner.of("e-1")[0], { timeoutMs, what: "the delivery" });
  const request = { method: "POST", target: path, headers, body };
  for (const key of known)
    expect(schemes.HttpMessageSignatures.verify([key], request, Date.now())).toEqual({ ok: true, keyId: key.id });
  expect(schemes.HttpMessageSignatures.verify(known, { ...request, body: Buffer.from("{}") }, Date.now())).toEqual({
    ok: false,
    fault: "digest_mismatch",
  });
  expect(headers["traceparent"]).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/u);
  expect((await app.inject({ url: "/webhooks/partners/default/nobody/jwks.json" })).json()).toEqual({ keys: [] });
});

test("a key is neither served nor cached after its notAfter", { timeout: 30_000 }, async ({ onTestFinished }) => {
  const nats = await startNatsServer();
  onTestFinished(() => nats.stop());
  const keys = [
    { id: "new", material: "new" },
    { id: "old", material: "old", notAfterMs: Date.now() + 4_000 },
  ];
  const config = configOf({
    ...partnerConfig("one", "http://127.0.0.1:9/"),
    signing: { scheme: "HttpMessageSignatures", keys },
  });
  const base64 = (pem: string): string => Buffer.from(pem).toString("base64");
  const it = await startEngine(nats.url, {
    ...config,
    material: { new: base64(pemOf(rfcEd25519)), old: base64(pemOf(rfcP256)) },
  });
  onTestFinished(it.stop);
  const listed = (): number => it.engine.publicKeys("default/one").keySet.keys.length;
  const { maxAgeSeconds } = it.engine.publicKeys("default/one");
  const goneAtMs = await waitFor(() => (listed() === 1 ? it.nats.clock.now() : undefined), {
    timeoutMs,
    what: "the end of the old key",
  });
  expect([maxAgeSeconds < 4, goneAtMs - (keys[1]?.notAfterMs ?? 0) < 1_000]).toEqual([true, true]);
});
