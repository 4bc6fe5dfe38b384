import { base64url, exportSPKI, importJWK, SignJWT, UnsecuredJWT } from "jose";
import { beforeAll, describe, expect, test } from "vitest";
import { defaultSettings } from "../../../../runtime/config/settings/settings-schema.ts";
import { createAuthenticate, type Authenticate } from "../../../../runtime/http/authentication/authenticate.ts";
import { KeySource } from "../../../../runtime/http/authentication/key-source.ts";
import { makeIssuer, nothingShown, signToken, type TestIssuer } from "../../../support/tokens.ts";

const nowMs = Date.UTC(2026, 0, 1);
const nowSeconds = nowMs / 1000;
const clock = { nowMs };

let trusted: TestIssuer;
let other: TestIssuer;
let stranger: TestIssuer;
let authenticate: (authorization: string | undefined) => ReturnType<Authenticate>;
let reads = 0;

beforeAll(async () => {
  trusted = await makeIssuer("https://id.example");
  other = await makeIssuer("https://other.example", "o1", "RS256");
  stranger = await makeIssuer("https://id.example");
  const grants = [{ subject: "granted", scopes: ["events:write"], tenants: ["lumen"], roles: ["auditor"] }];
  const issuers = [trusted, other].map((from) => ({
    settings: { issuer: from.issuer, audiences: ["heliograph", "api"], algorithms: [from.algorithm], grants },
    keys: new KeySource(
      async () => {
        reads += 1;
        return { keys: [from.publicJwk] };
      },
      () => clock.nowMs,
    ),
  }));
  const verify = createAuthenticate(issuers, defaultSettings.claims, () => clock.nowMs);
  authenticate = (authorization) => verify(authorization, nothingShown);
});

type Changes = Readonly<Record<string, unknown>>;

const claims = (changes: Changes = {}) => ({
  iss: "https://id.example",
  aud: "heliograph",
  sub: "dashboards",
  exp: nowSeconds + 3600,
  tenants: ["acme"],
  scope: "metrics:read",
  ...changes,
});

const bearer = async (changes: Changes = {}, from = trusted) => `Bearer ${await signToken(from, claims(changes))}`;

describe("a token is accepted", () => {
  test("when issuer, audience, times and signature are right", async () => {
    const caller = await authenticate(await bearer());
    expect(caller).toMatchObject({ client: "dashboards", tenants: ["acme"], scopes: ["metrics:read"] });
  });

  test("with what the settings grant its subject besides its own claims", async () => {
    const caller = await authenticate(await bearer({ sub: "granted" }));
    expect(caller).toMatchObject({
      tenants: ["acme", "lumen"],
      scopes: ["metrics:read", "events:write"],
      roles: ["auditor"],
    });
  });

  test("without what the settings grant another subject, whatever its client id", async () => {
    const caller = await authenticate(await bearer({ client_id: "granted" }));
    expect(caller).toMatchObject({ client: "granted", tenants: ["acme"], scopes: ["metrics:read"], roles: [] });
  });

  test.each([
    ["for another accepted audience", { aud: "api" }],
    ["for one of several audiences", { aud: ["elsewhere", "heliograph"] }],
    ["within the leeway after its end", { exp: nowSeconds - 29 }],
    ["within the leeway before its start", { nbf: nowSeconds + 29 }],
  ])("%s", async (_name, changes) => {
    await expect(authenticate(await bearer(changes))).resolves.toMatchObject({ client: "dashboards" });
  });

  test("whatever the case of the scheme", async () => {
    await expect(authenticate((await bearer()).replace("Bearer", "bearer"))).resolves.toBeDefined();
  });

  test("of each issuer by that issuer's own keys and algorithms", async () => {
    await expect(authenticate(await bearer({ iss: other.issuer }, other))).resolves.toBeDefined();
    await expect(authenticate(await bearer({ iss: other.issuer }))).rejects.toMatchObject({ code: "token_invalid" });
  });
});

describe("a request without a usable token is refused", () => {
  test.each([undefined, "", "Basic dXNlcjpwdw==", "Bearer", "Bearer ", "Bearer a b"])("%j", async (header) => {
    await expect(authenticate(header)).rejects.toMatchObject({ code: "token_missing", status: 401 });
  });

  test.each([
    ["no JWT at all", "Bearer abc"],
    ["three empty parts", "Bearer .."],
    ["a payload that is no object", `Bearer ${base64url.encode('{"alg":"ES256"}')}.${base64url.encode("[]")}.x`],
    ["a token far too long", `Bearer ${"a".repeat(8193)}`],
  ])("%s", async (_name, header) => {
    await expect(authenticate(header)).rejects.toMatchObject({ code: "token_invalid", status: 401 });
  });

  test.each([
    ["expired", { exp: nowSeconds - 31 }, /expired/u],
    ["not valid yet", { nbf: nowSeconds + 31 }, /nbf/u],
    ["without an end", { exp: undefined }, /exp/u],
    ["for another audience", { aud: "elsewhere" }, /aud/u],
    ["without an audience", { aud: undefined }, /aud/u],
    ["of an unknown issuer", { iss: "https://evil.example" }, /issuer/u],
    ["without an issuer", { iss: undefined }, /no iss claim/u],
    [
      "bound to a certificate that nothing proves (RFC 8705 §3)",
      { cnf: { "x5t#S256": "x".repeat(43) } },
      /has no client certificate/u,
    ],
  ])("%s", async (_name, changes, message) => {
    const refused = authenticate(await bearer(changes));
    await expect(refused).rejects.toMatchObject({ code: "token_invalid", message: expect.stringMatching(message) });
  });

  test("signed by another key with the same key id", async () => {
    await expect(authenticate(await bearer({}, stranger))).rejects.toMatchObject({
      message: "The token's signature is invalid.",
    });
  });

  test("with another payload under a good signature", async () => {
    const [header, , signature] = (await bearer()).slice(7).split(".");
    const payload = base64url.encode(JSON.stringify(claims({ tenants: ["*"] })));
    await expect(authenticate(`Bearer ${header}.${payload}.${signature}`)).rejects.toMatchObject({
      code: "token_invalid",
    });
  });
});

describe("algorithms are the issuer's, never the token's choice (RFC 8725 §3.1)", () => {
  test("alg none is refused", async () => {
    const token = new UnsecuredJWT(claims()).encode();
    await expect(authenticate(`Bearer ${token}`)).rejects.toMatchObject({ code: "token_invalid" });
  });

  test.each(["HS256", "HS384", "HS512"])("%s keyed with the published public key is refused", async (alg) => {
    const key = await importJWK(trusted.publicJwk, "ES256");
    if (key instanceof Uint8Array) throw new Error("an asymmetric key was expected");
    const spki = new TextEncoder().encode((await exportSPKI(key)).padEnd(64));
    const token = await new SignJWT(claims()).setProtectedHeader({ alg, kid: trusted.kid }).sign(spki);
    await expect(authenticate(`Bearer ${token}`)).rejects.toMatchObject({
      message: "The token's signing algorithm is not allowed.",
    });
  });

  test("an asymmetric algorithm that this issuer does not use is refused", async () => {
    const rsa = await makeIssuer(trusted.issuer, trusted.kid, "RS256");
    await expect(authenticate(await bearer({}, rsa))).rejects.toMatchObject({
      message: "The token's signing algorithm is not allowed.",
    });
  });

  test("a key inside the token is ignored", async () => {
    const token = await new SignJWT(claims())
      .setProtectedHeader({ alg: "ES256", jwk: stranger.publicJwk })
      .sign(stranger.privateKey);
    await expect(authenticate(`Bearer ${token}`)).rejects.toMatchObject({ code: "token_invalid" });
  });
});

describe("a token that was verified", () => {
  test("is accepted without another check, and never past its end", async () => {
    const header = await bearer({ exp: nowSeconds + 10 });
    await authenticate(header);
    const readsBefore = reads;
    await authenticate(header);
    expect(reads).toBe(readsBefore);
    clock.nowMs = nowMs + 41_000;
    await expect(authenticate(header)).rejects.toMatchObject({ message: "The token has expired." });
    clock.nowMs = nowMs;
  });
});
