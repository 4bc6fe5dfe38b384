import { createHash, randomUUID } from "node:crypto";
import { calculateJwkThumbprint, exportJWK, generateKeyPair, SignJWT, type CryptoKey, type JWK } from "jose";
import { pino } from "pino";
import { beforeAll, describe, expect, test } from "vitest";
import type { TokenBinding } from "../../../runtime/config/settings/settings.ts";
import { defaultSettings } from "../../../runtime/config/settings/settings-schema.ts";
import { ApiError } from "../../../runtime/errors/api-error.ts";
import {
  createAuthenticate,
  type Authenticate,
  type AuthenticateOptions,
  type Possession,
} from "../../../runtime/http/authentication/authenticate.ts";
import { createCertificateReader } from "../../../runtime/http/authentication/client-certificate.ts";
import { KeySource } from "../../../runtime/http/authentication/key-source.ts";
import { createPublicServer } from "../../../runtime/http/server/public-server.ts";
import { makeIssuer, nothingShown, signToken, type TestIssuer } from "../../support/tokens.ts";

const nowMs = Date.UTC(2026, 0, 1);
const nowSeconds = nowMs / 1000;
const own = createHash("sha256").update("own").digest();
const other = createHash("sha256").update("other").digest();

let issuer: TestIssuer;
let key: { readonly privateKey: CryptoKey; readonly jwk: JWK; readonly thumbprint: string };
let stranger: typeof key;

async function makeKey(): Promise<typeof key> {
  const { privateKey, publicKey } = await generateKeyPair("ES256", { extractable: true });
  const jwk = await exportJWK(publicKey);
  return { privateKey, jwk, thumbprint: await calculateJwkThumbprint(jwk) };
}

beforeAll(async () => {
  issuer = await makeIssuer("https://id.example");
  key = await makeKey();
  stranger = await makeKey();
});

function authenticator(
  options: AuthenticateOptions = {},
  ofIssuer: { tokenBinding?: TokenBinding } = {},
): Authenticate {
  const keys = new KeySource(
    async () => ({ keys: [issuer.publicJwk] }),
    () => nowMs,
  );
  const settings = { issuer: issuer.issuer, audiences: ["heliograph"], algorithms: ["ES256"], ...ofIssuer };
  return createAuthenticate([{ settings, keys }], defaultSettings.claims, () => nowMs, options);
}

const tokenOf = (cnf?: unknown) =>
  signToken(issuer, { iss: issuer.issuer, aud: "heliograph", sub: "dashboards", exp: nowSeconds + 600, cnf });
const bearer = async (cnf?: unknown) => `Bearer ${await tokenOf(cnf)}`;
const boundToOwn = () => bearer({ "x5t#S256": own.toString("base64url") });
const showing = (certificate: Buffer | undefined): Possession => ({ ...nothingShown, certificate: () => certificate });

describe("a token that is bound to a certificate (RFC 8705 §3)", () => {
  test("is accepted with that certificate, and looked at anew with each request", async () => {
    const authenticate = authenticator();
    const header = await boundToOwn();
    await expect(authenticate(header, showing(own))).resolves.toMatchObject({ client: "dashboards" });
    await expect(authenticate(header, showing(other))).rejects.toMatchObject({
      code: "token_invalid",
      message: expect.stringMatching(/a different one/u),
    });
    await expect(authenticate(header, showing(undefined))).rejects.toMatchObject({
      code: "token_invalid",
      message: expect.stringMatching(/no client certificate/u),
    });
    await expect(authenticate(header, showing(own))).resolves.toMatchObject({ client: "dashboards" });
  });

  test.each([
    ["that is no object", "x"],
    ["that is null", null],
    ["of a kind that nobody here can check", { kid: "k" }],
    ["with a thumbprint that is no text", { "x5t#S256": 7 }],
    ["with a thumbprint of another length", { "x5t#S256": "abc" }],
    ["with one good and one broken thumbprint", { "x5t#S256": own.toString("base64url"), jkt: [] }],
  ])("by a claim %s is refused, never taken as unbound", async (_name, cnf) => {
    const refused = authenticator()(await bearer(cnf), showing(own));
    await expect(refused).rejects.toMatchObject({ code: "token_invalid", message: expect.stringMatching(/cnf/u) });
  });
});

describe("a token that is bound to nothing", () => {
  test.each([
    ["is taken where nothing else is asked for", {}, {}, true],
    ["is refused where certificates are", { tokenBinding: "Certificate" }, {}, false],
    ["is refused where keys are", { tokenBinding: "Key" }, {}, false],
    ["is refused where either is", { tokenBinding: "Any" }, {}, false],
    [
      "is taken from an issuer that cannot bind tokens",
      { tokenBinding: "Certificate" },
      { tokenBinding: "None" },
      true,
    ],
    ["is refused from an issuer that has to", { tokenBinding: "None" }, { tokenBinding: "Certificate" }, false],
  ] as const)("%s", async (_name, options, ofIssuer, isTaken) => {
    // A certificate that the token does not name proves nothing about it.
    const answer = authenticator(options, ofIssuer)(await bearer(), showing(own));
    const outcome = await answer.then(
      ({ client }) => client,
      (error: unknown) => (error instanceof ApiError ? `${error.code}: ${error.message}` : error),
    );
    expect(outcome).toMatch(
      isTaken ? /^dashboards$/u : /^token_invalid: The token is not bound to (?:a client certificate|a key,)/u,
    );
  });

  test("is refused under the scheme DPoP (RFC 9449 §7.1)", async () => {
    const answer = authenticator()(`DPoP ${await tokenOf()}`, nothingShown);
    await expect(answer).rejects.toMatchObject({
      code: "token_invalid",
      message: expect.stringMatching(/not bound to a key/u),
    });
  });
});

interface Made {
  readonly header?: Readonly<Record<string, unknown>>;
  readonly claims?: Readonly<Record<string, unknown>>;
  readonly by?: typeof key;
}

/** A proof for the token and the request below, with changes. */
async function proofOf(token: string, { header = {}, claims = {}, by = key }: Made = {}): Promise<string> {
  const ath = createHash("sha256").update(token).digest("base64url");
  const all = { jti: randomUUID(), htm: "POST", htu: "https://api.example/events", iat: nowSeconds, ath, ...claims };
  const present = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
  return new SignJWT(present)
    .setProtectedHeader({ alg: "ES256", typ: "dpop+jwt", jwk: by.jwk, ...header })
    .sign(by.privateKey);
}

const request: Possession = { ...nothingShown, method: "POST", path: "/events", host: "api.example" };
const boundToKey = () => tokenOf({ jkt: key.thumbprint });

describe("a token that is bound to a key (RFC 9449)", () => {
  async function send(made: Made = {}, shown: Partial<Possession> = {}, options: AuthenticateOptions = {}) {
    const token = await boundToKey();
    const proof = await proofOf(token, made);
    return authenticator(options)(`DPoP ${token}`, { ...request, proof, ...shown });
  }

  test("is accepted with a proof of that key for this very request", async () => {
    await expect(send()).resolves.toMatchObject({ client: "dashboards" });
  });

  test.each([
    ["where bound tokens of either kind are asked for", {}, {}, { tokenBinding: "Any" }],
    ["where tokens bound to keys are asked for", {}, {}, { tokenBinding: "Key" }],
    [
      "with a query in the address of the proof, which does not count",
      { claims: { htu: "https://api.example/events?a=b#c" } },
      {},
      {},
    ],
    ["with the port that the scheme implies", { claims: { htu: "https://API.example:443/events" } }, {}, {}],
    ["by http, where TLS does not end here", { claims: { htu: "http://api.example/events" } }, {}, {}],
    [
      "under the address that the settings name",
      { claims: { htu: "https://public.example/events" } },
      { host: "internal" },
      { publicUrls: ["https://public.example"] },
    ],
    ["a minute after the proof was made", { claims: { iat: nowSeconds - 60 } }, {}, {}],
    ["half a minute before", { claims: { iat: nowSeconds + 30 } }, {}, {}],
  ] as const)("%s", async (_name, made, shown, options) => {
    await expect(send(made, shown, options)).resolves.toMatchObject({ client: "dashboards" });
  });

  const refusals: readonly (
    | readonly [string, Made, Partial<Possession>]
    | readonly [string, Made, Partial<Possession>, AuthenticateOptions]
  )[] = [
    ["without a proof", {}, { proof: undefined }],
    ["with two proofs", {}, { proof: "a.b.c, a.b.c" }],
    ["with a proof that is far too long", {}, { proof: "a".repeat(4097) }],
    ["with a proof of another method", {}, { method: "GET" }],
    ["with a proof of another path", {}, { path: "/events/" }],
    ["with a proof of another host", {}, { host: "evil.example" }],
    ["with a proof of a host that only the caller names", {}, {}, { publicUrls: ["https://public.example"] }],
    ["with a proof of another token", { claims: { ath: "x" } }, {}],
    ["with a proof that names no token", { claims: { ath: undefined } }, {}],
    ["with a proof without an id", { claims: { jti: undefined } }, {}],
    ["with a proof whose id is no text", { claims: { jti: 7 } }, {}],
    ["with a proof whose id is far too long", { claims: { jti: "x".repeat(513) } }, {}],
    ["with a proof that is too old", { claims: { iat: nowSeconds - 61 } }, {}],
    ["with a proof of the future", { claims: { iat: nowSeconds + 31 } }, {}],
    ["with a proof without a time", { claims: { iat: undefined } }, {}],
    ["with a proof whose time is no number", { claims: { iat: "now" } }, {}],
    ["with a proof of another type", { header: { typ: "JWT" } }, {}],
    ["with a proof without its key", { header: { jwk: undefined } }, {}],
    ["with a proof whose address is none", { claims: { htu: "events" } }, {}],
  ];
  test.each(refusals)("is refused %s", async (...[, made, shown, options]) => {
    await expect(send(made, shown, options)).rejects.toMatchObject({ code: "proof_invalid", status: 401 });
  });

  test("is refused with a proof of another key", async () => {
    await expect(send({ by: stranger })).rejects.toMatchObject({
      message: expect.stringMatching(/not signed with the key/u),
    });
  });

  test("is refused with a proof that shows the right key and is signed with another", async () => {
    await expect(send({ by: stranger, header: { jwk: key.jwk } })).rejects.toMatchObject({ code: "proof_invalid" });
  });

  test("is refused with a proof that shows a private key", async () => {
    const jwk = await exportJWK(key.privateKey);
    await expect(send({ header: { jwk } })).rejects.toMatchObject({ code: "proof_invalid" });
  });

  test("is refused with a proof that is signed with a shared secret", async () => {
    const token = await boundToKey();
    const claims = {
      jti: "1",
      htm: "POST",
      htu: "https://api.example/events",
      iat: nowSeconds,
      ath: createHash("sha256").update(token).digest("base64url"),
    };
    const secret = { kty: "oct", k: Buffer.alloc(32, 1).toString("base64url") };
    const proof = await new SignJWT(claims)
      .setProtectedHeader({ alg: "HS256", typ: "dpop+jwt", jwk: secret })
      .sign(Buffer.alloc(32, 1));
    await expect(authenticator()(`DPoP ${token}`, { ...request, proof })).rejects.toMatchObject({
      code: "proof_invalid",
    });
  });

  test("is refused when its proof is shown a second time, also with another request's", async () => {
    const authenticate = authenticator();
    const token = await boundToKey();
    const shown = { ...request, proof: await proofOf(token) };
    await authenticate(`DPoP ${token}`, shown);
    await expect(authenticate(`DPoP ${token}`, shown)).rejects.toMatchObject({
      message: expect.stringMatching(/already been used/u),
    });
    await expect(authenticate(`DPoP ${token}`, { ...request, proof: await proofOf(token) })).resolves.toBeDefined();
  });

  test("is refused as a bearer token, proof or not", async () => {
    const token = await boundToKey();
    const answer = authenticator()(`Bearer ${token}`, { ...request, proof: await proofOf(token) });
    await expect(answer).rejects.toMatchObject({
      code: "proof_invalid",
      message: expect.stringMatching(/DPoP <token>/u),
    });
  });

  test("is refused where only certificates count", async () => {
    await expect(send({}, {}, { tokenBinding: "Certificate" })).rejects.toMatchObject({ code: "token_invalid" });
  });

  test("is asked for where only keys count, so that a token bound to a certificate is refused", async () => {
    const answer = authenticator({ tokenBinding: "Key" })(await boundToOwn(), showing(own));
    await expect(answer).rejects.toMatchObject({
      code: "token_invalid",
      message: expect.stringMatching(/not bound to a key,/u),
    });
  });

  test("and to a certificate needs both", async () => {
    const authenticate = authenticator();
    const token = await tokenOf({ jkt: key.thumbprint, "x5t#S256": own.toString("base64url") });
    const send2 = async (shown: Partial<Possession>) =>
      authenticate(`DPoP ${token}`, { ...request, proof: await proofOf(token), ...shown });
    await expect(send2({ certificate: () => own })).resolves.toBeDefined();
    await expect(send2({})).rejects.toMatchObject({ code: "token_invalid" });
    await expect(send2({ certificate: () => own, proof: undefined })).rejects.toMatchObject({ code: "proof_invalid" });
  });
});

describe("a caller who is known from an earlier request", () => {
  const stillOf = async (header: string, shown: Possession, certificate?: Buffer): Promise<boolean | undefined> => {
    const authenticate = authenticator();
    // Nothing is remembered of what the issuer's keys were read for.
    await authenticate(await bearer(), nothingShown);
    return authenticate.isStill?.(await authenticate(header, shown), () => certificate);
  };

  test("is the same by the same text, if that is bound to nothing", async () => {
    expect(await stillOf(await bearer(), nothingShown)).toBe(true);
  });

  test("has to show the certificate each time that the text is bound to", async () => {
    const header = await boundToOwn();
    expect(
      await Promise.all([own, other, undefined].map((certificate) => stillOf(header, showing(own), certificate))),
    ).toEqual([true, false, false]);
  });

  test("is nobody by a text that needs a proof of its own each time", async () => {
    const token = await tokenOf({ jkt: key.thumbprint });
    expect(await stillOf(`DPoP ${token}`, { ...request, proof: await proofOf(token) })).toBe(false);
  });

  test("is nobody for another who authenticates", async () => {
    const caller = await authenticator()(await bearer(), nothingShown);
    expect(authenticator().isStill?.(caller, () => undefined)).toBe(false);
  });
});

describe("a server behind a trusted proxy", () => {
  const header = (certificate: Buffer): Record<string, string> => ({
    "x-forwarded-client-cert": `Hash=${certificate.toString("hex")};Subject=""`,
  });

  async function statusOf(remoteAddress: string, headers: Record<string, string>): Promise<number> {
    const app = createPublicServer({
      log: pino({ level: "silent" }),
      observe: () => undefined,
      now: () => nowMs,
      readCertificate: createCertificateReader({
        trustedProxies: { addresses: ["10.1.0.0/16"], certificateForm: "Xfcc" },
      }),
      authenticate: authenticator({ tokenBinding: "Certificate" }),
      routes: [{ method: "GET", path: "/who", scopes: ["s"], handle: async () => ({ status: 200, body: {} }) }],
    });
    const token = await signToken(issuer, {
      iss: issuer.issuer,
      aud: "heliograph",
      sub: "c",
      scope: "s",
      exp: nowSeconds + 600,
      cnf: { "x5t#S256": own.toString("base64url") },
    });
    const { statusCode } = await app.inject({
      url: "/who",
      remoteAddress,
      headers: { authorization: `Bearer ${token}`, ...headers },
    });
    await app.close();
    return statusCode;
  }

  test("believes its word of the certificate, and nobody else's", async () => {
    expect(await statusOf("10.1.2.3", header(own))).toBe(200);
    expect(await statusOf("10.1.2.3", header(other))).toBe(401);
    expect(await statusOf("10.1.2.3", {})).toBe(401);
    expect(await statusOf("10.2.2.3", header(own))).toBe(401);
  });
});
