import { exportSPKI, importJWK, SignJWT, UnsecuredJWT, type JWK } from "jose";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { request } from "undici";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { devAudience, devIssuerName } from "../../runtime/http/authentication/dev-issuer.ts";
import { runProgram } from "../support/heliograph-process.ts";
import { eventText, get, makeInstallation, postEvent, type Installation, type Running } from "./installation.ts";

let installation: Installation;
let program: Running;
let token = "";

beforeAll(async () => {
  installation = await makeInstallation();
  program = await installation.start();
  token = await installation.token();
});

afterAll(async () => installation.remove());

const post = (body: string | Buffer, bearer = token) => postEvent(program.line.url, bearer, body);

describe("an event is refused", () => {
  test("of 10 MiB with 413", async () => {
    const answer = await post(eventText("evt-large", { data: { text: "x".repeat(10 * 1024 * 1024) } }));
    expect(answer).toMatchObject({ status: 413, body: { code: "body_too_large" } });
  });

  test("of one byte more than 256 KiB with 413, and taken at 256 KiB", async () => {
    const bare = eventText("evt-exact", { data: { text: "" } }).length;
    const sized = (bytes: number) => eventText("evt-exact", { data: { text: "x".repeat(bytes - bare) } });
    expect(await post(sized(256 * 1024 + 1))).toMatchObject({ status: 413 });
    expect(await post(sized(256 * 1024))).toMatchObject({ status: 202 });
  });

  test("that is not UTF-8 with 400", async () => {
    const body = Buffer.concat([
      Buffer.from(eventText("evt-utf8").slice(0, -1)),
      Buffer.from([0xff]),
      Buffer.from("}"),
    ]);
    expect(await post(body)).toMatchObject({ status: 400, body: { code: "invalid_utf8" } });
  });

  test.each([
    ["that is empty", "", 400, "invalid_json"],
    ["that is not JSON", "{", 400, "invalid_json"],
    ["that is no object", "1", 422, "invalid_envelope"],
    ["that is an empty list of events", "[]", 400, "invalid_request"],
    ["without a type", eventText("evt-typeless", { type: undefined }), 422, "invalid_envelope"],
    ["with a card number", eventText("evt-card", { data: { note: "4111 1111 1111 1111" } }), 422, "personal_data"],
  ])("%s", async (_name, body, status, code) => {
    expect(await post(body)).toMatchObject({ status, body: { code, status } });
  });

  test("of another type with 415", async () => {
    const headers = { authorization: `Bearer ${token}`, "content-type": "text/plain" };
    const { statusCode, body } = await request(`${program.line.url}/events`, { method: "POST", headers, body: "{}" });
    await body.dump();
    expect(statusCode).toBe(415);
  });

  test("of a tenant that the token does not name with 403, and without a tenant unless `-` is granted", async () => {
    const narrow = await installation.token({ tenants: ["lumen"] });
    expect(await post(eventText("evt-mine"), narrow)).toMatchObject({ status: 202 });
    const other = await post(eventText("evt-other", { tenant: "vega" }), narrow);
    expect(other).toMatchObject({ status: 403, body: { code: "tenant_forbidden" } });
    const tenantless = eventText("evt-none", { tenant: undefined });
    expect(await post(tenantless, narrow)).toMatchObject({ status: 403, body: { code: "tenant_forbidden" } });
    const granted = await installation.token({ tenants: ["-"] });
    expect(await post(tenantless, granted)).toMatchObject({ status: 202, body: { tenant: "-" } });
  });

  test("without the scope with 403", async () => {
    const reader = await installation.token({ scope: "webhooks:read" });
    expect(await post(eventText("evt-scope"), reader)).toMatchObject({ status: 403, body: { code: "scope_missing" } });
  });
});

describe("an event of another tenant", () => {
  test("gets the same response as a missing one", async () => {
    await post(eventText("evt-hidden"));
    const stranger = await installation.token({ tenants: ["vega"] });
    const hidden = await get(`${program.line.url}/webhooks/events/evt-hidden`, stranger);
    const absent = await get(`${program.line.url}/webhooks/events/evt-absent`, stranger);
    expect(hidden).toMatchObject({ status: 404, body: { code: "event_not_found" } });
    expect(hidden.body["detail"]).toBe(absent.body["detail"]);
  });
});

describe("a token", () => {
  const claims = () => ({
    iss: devIssuerName,
    aud: devAudience,
    sub: "test",
    tenants: ["*"],
    scope: "events:write",
    exp: Math.floor(Date.now() / 1000) + 600,
  });
  const keyFile = async () => JSON.parse(await readFile(join(installation.data, "dev-issuer.jwk.json"), "utf8")) as JWK;

  async function signed(changes: Readonly<Record<string, unknown>>): Promise<string> {
    const jwk = await keyFile();
    const key = await importJWK(jwk, "ES256");
    return new SignJWT({ ...claims(), ...changes })
      .setProtectedHeader({ alg: "ES256", kid: String(jwk.kid) })
      .sign(key);
  }

  test("of heliograph dev-token is accepted", async () => {
    const args = ["dev-token", "--data", installation.data, "--tenant", "lumen", "--scope", "events:write"];
    const { stdout } = await runProgram(args);
    expect(await post(eventText("evt-dev"), stdout.trim())).toMatchObject({ status: 202 });
  });

  test.each([
    ["that has expired", { exp: 1_700_000_000 }],
    ["for another audience", { aud: "elsewhere" }],
    ["of another issuer", { iss: "https://elsewhere.example" }],
  ])("%s is refused with 401 and a challenge", async (_name, changes) => {
    expect(await post(eventText("evt-token"), await signed({}))).toMatchObject({ status: 202 });
    const answer = await post(eventText("evt-token"), await signed(changes));
    expect(answer).toMatchObject({ status: 401, body: { code: "token_invalid" } });
    expect(answer.headers["www-authenticate"]).toMatch(/^Bearer realm="heliograph", error="invalid_token"/u);
  });

  test("with alg none is refused", async () => {
    const unsigned = new UnsecuredJWT(claims()).encode();
    expect(await post(eventText("evt-token"), unsigned)).toMatchObject({
      status: 401,
      body: { code: "token_invalid" },
    });
  });

  test("with HS256 over the public key is refused", async () => {
    const { d: _private, ...publicJwk } = await keyFile();
    const key = await importJWK(publicJwk, "ES256");
    const spki = key instanceof Uint8Array ? key : new TextEncoder().encode(await exportSPKI(key));
    const forged = await new SignJWT(claims())
      .setProtectedHeader({ alg: "HS256", kid: String(publicJwk.kid) })
      .sign(spki);
    expect(await post(eventText("evt-token"), forged)).toMatchObject({ status: 401, body: { code: "token_invalid" } });
  });

  test("that is missing is asked for", async () => {
    const answer = await get(`${program.line.url}/v1/metrics/catalog`);
    expect(answer).toMatchObject({ status: 401, body: { code: "token_missing" } });
    expect(answer.headers["www-authenticate"]).toMatch(/^Bearer realm="heliograph", DPoP algs="ES256 /u);
  });
});
