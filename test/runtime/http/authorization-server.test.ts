import { createHash, randomUUID } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  base64url,
  decodeJwt,
  decodeProtectedHeader,
  exportJWK,
  generateKeyPair,
  importJWK,
  exportSPKI,
  SignJWT,
  UnsecuredJWT,
  type CryptoKey,
  type JWK,
} from "jose";
import { pino } from "pino";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { IssuerSettings } from "../../../runtime/config/settings/settings.ts";
import { defaultSettings } from "../../../runtime/config/settings/settings-schema.ts";
import { createAuthenticate } from "../../../runtime/http/authentication/authenticate.ts";
import { KeySource, loadKeys } from "../../../runtime/http/authentication/key-source.ts";
import { listenServer, stopServer } from "../../../runtime/http/server/listen-server.ts";
import { createPublicServer } from "../../../runtime/http/server/public-server.ts";
import { startAuthorizationServer, type AuthorizationServer } from "../../support/authorization-server.ts";
import { createCertificateAuthority } from "../../support/tls/certificate-authority.ts";
import { askHttps, type HttpsAnswer } from "../../support/tls/https.ts";
import { temporaryFolder, type TemporaryFolder } from "../../support/temp-folder.ts";
import type { Certificate } from "../../support/tls/x509.ts";

const resource = "https://api.example";
const minuteMs = 60_000;
/** An RSA key takes seconds to be found on a busy machine. */
const startMsMax = 60_000;
const authority = createCertificateAuthority("authority of the api");
const own = createCertificateAuthority("clients").issue({ commonName: "bound" });
const other = createCertificateAuthority("clients").issue({ commonName: "bound" });
/** The product's clock, which tests move, from test to test only ahead. */
const clock = { aheadMs: 0 };
const now = (): number => Date.now() + clock.aheadMs;

let folder: TemporaryFolder;
let trusted: AuthorizationServer;
let rsa: AuthorizationServer;
let stranger: AuthorizationServer;
let api = "";
const closing: (() => Promise<unknown>)[] = [];

async function trust(
  { issuer, jwksUrl, ca }: AuthorizationServer,
  algorithm: string,
): Promise<{ settings: IssuerSettings; keys: KeySource }> {
  const jwksCaFile = join(folder.path, `${new URL(issuer).port}.crt`);
  await writeFile(jwksCaFile, ca);
  const settings: IssuerSettings = { issuer, audiences: [resource], jwksUrl, jwksCaFile, algorithms: [algorithm] };
  return { settings, keys: new KeySource(() => loadKeys(settings), now) };
}

beforeAll(async () => {
  folder = await temporaryFolder("oauth");
  [trusted, rsa, stranger] = await Promise.all([
    startAuthorizationServer("ES256"),
    startAuthorizationServer("RS256"),
    startAuthorizationServer("ES256"),
  ]);
  const issuers = [await trust(trusted, "ES256"), await trust(rsa, "RS256")];
  const app = createPublicServer({
    log: pino({ level: "silent" }),
    observe: () => undefined,
    now,
    tls: authority.issue({ commonName: "api", names: ["localhost"] }),
    authenticate: createAuthenticate(issuers, defaultSettings.claims, now),
    routes: [
      {
        method: "GET",
        path: "/who",
        scopes: ["metrics:read"],
        handle: async ({ caller }) => ({ status: 200, body: caller }),
      },
    ],
  });
  api = `${(await listenServer(app, "127.0.0.1", 0)).replace("127.0.0.1", "localhost")}/who`;
  closing.push(
    () => stopServer(app, 1000),
    ...[trusted, rsa, stranger].map((server) => () => server.close()),
    () => folder.remove(),
  );
}, startMsMax);

afterAll(async () => {
  for (const close of closing) await close();
});

const who = (token: string, client?: Certificate): Promise<HttpsAnswer> =>
  askHttps(api, {
    ca: authority.cert,
    headers: { authorization: `Bearer ${token}` },
    ...(client === undefined ? {} : { client }),
  });

const refused = { status: 401, body: { code: "token_invalid" } };

describe("a token of a real authorization server", () => {
  test("by client credentials names client, tenant and scopes", async () => {
    for (const server of [trusted, rsa]) {
      const answer = await who(await server.token("plain", { resource, scope: "metrics:read events:write" }));
      expect(answer).toMatchObject({
        status: 200,
        body: { client: "plain", tenants: ["acme"], scopes: ["metrics:read", "events:write"] },
      });
    }
  });

  test("without the scope of the route is refused as such", async () => {
    const answer = await who(await trusted.token("plain", { resource, scope: "events:write" }));
    expect(answer).toMatchObject({ status: 403, body: { code: "scope_missing" } });
  });

  test("for another audience is refused", async () => {
    expect(await who(await trusted.token("plain", { resource: "https://elsewhere.example" }))).toMatchObject(refused);
  });

  test("of an issuer that is not trusted is refused, also when it claims to be of one that is", async () => {
    const token = await stranger.token("plain", { resource });
    expect(await who(token)).toMatchObject({
      ...refused,
      body: { detail: expect.stringMatching(/^The issuer "[^"]+" of the token is not trusted\. Trusted: "[^"]+"/u) },
    });
    const [header = "", payload = "", signature = ""] = token.split(".");
    const forged = { ...(JSON.parse(Buffer.from(payload, "base64url").toString()) as object), iss: trusted.issuer };
    expect(await who([header, base64url.encode(JSON.stringify(forged)), signature].join("."))).toMatchObject(refused);
  });
});

describe("a token that nobody signed as the issuer does", () => {
  test("by no algorithm is refused", async () => {
    const claims = decodeJwt(await trusted.token("plain", { resource }));
    expect(await who(new UnsecuredJWT({ ...claims, tenants: ["*"] }).encode())).toMatchObject(refused);
  });

  test("by the published key as a shared secret is rejected", async () => {
    const token = await rsa.token("plain", { resource });
    const { body } = await askHttps(rsa.jwksUrl, { ca: rsa.ca });
    const [jwk] = body["keys"] as readonly JWK[];
    const key = await importJWK(jwk ?? {}, "RS256");
    if (key instanceof Uint8Array) throw new Error("an RSA key was expected");
    const { kid } = decodeProtectedHeader(token);
    for (const alg of ["HS256", "HS512"]) {
      const header = { alg, ...(kid === undefined ? {} : { kid }) };
      const forged = await new SignJWT({ ...decodeJwt(token) })
        .setProtectedHeader(header)
        .sign(new TextEncoder().encode(await exportSPKI(key)));
      expect(await who(forged)).toMatchObject({
        ...refused,
        body: { detail: "The token's signing algorithm is not allowed." },
      });
    }
  });
});

describe("a token that is bound to a certificate by a real authorization server", () => {
  test("is good with that certificate only", async () => {
    const token = await trusted.token("bound", { resource, certificate: own });
    expect(decodeJwt(token)["cnf"]).toHaveProperty("x5t#S256");
    expect(await who(token, own)).toMatchObject({ status: 200, body: { client: "bound" } });
    expect(await who(token, other)).toMatchObject(refused);
    expect(await who(token)).toMatchObject(refused);
  });
});

describe("a token that is bound to a key by a real authorization server", () => {
  let key: CryptoKey;
  let jwk: JWK;

  beforeAll(async () => {
    const pair = await generateKeyPair("ES256", { extractable: true });
    key = pair.privateKey;
    jwk = await exportJWK(pair.publicKey);
  });

  const proof = (claims: Readonly<Record<string, unknown>>): Promise<string> =>
    new SignJWT({ jti: randomUUID(), ...claims })
      .setProtectedHeader({ alg: "ES256", typ: "dpop+jwt", jwk })
      .setIssuedAt()
      .sign(key);

  test("is good with a proof for each request, once", async () => {
    const token = await trusted.token("proving", {
      resource,
      proof: await proof({ htm: "POST", htu: trusted.tokenUrl }),
    });
    const ath = createHash("sha256").update(token).digest("base64url");
    const ask = async (dpop: string): Promise<HttpsAnswer> =>
      askHttps(api, { ca: authority.cert, headers: { authorization: `DPoP ${token}`, dpop } });
    const first = await proof({ htm: "GET", htu: api, ath });
    expect(await ask(first)).toMatchObject({ status: 200, body: { client: "proving" } });
    const again = await ask(first);
    expect(again).toMatchObject({ status: 401, body: { code: "proof_invalid" } });
    expect(again.headers["www-authenticate"]).toMatch(/^DPoP algs="ES256 .*", error="invalid_dpop_proof"/u);
    expect(await ask(await proof({ htm: "GET", htu: `${trusted.issuer}/who`, ath }))).toMatchObject({ status: 401 });
    expect(await ask(await proof({ htm: "GET", htu: api, ath }))).toMatchObject({ status: 200 });
    expect(await who(token)).toMatchObject({ status: 401, body: { code: "proof_invalid" } });
  });
});

describe("keys that a real authorization server rotates while tokens are in use", () => {
  test("are followed at the first token of the new key, and the old one is believed no longer", async () => {
    const before = await trusted.token("plain", { resource });
    expect(await who(before)).toMatchObject({ status: 200 });
    await trusted.rotate();
    clock.aheadMs = minuteMs;
    // Nothing has told of the rotation yet: keys are read every ten minutes.
    expect(await who(before)).toMatchObject({ status: 200 });
    const after = await trusted.token("plain", { resource });
    expect(await who(after)).toMatchObject({ status: 200 });
    expect(await who(before)).toMatchObject({
      ...refused,
      body: { detail: "No key of the issuer matches the token." },
    });
  });

  test("that no token tells of are noticed by their age, while a verified token is used again and again", async () => {
    const held = await rsa.token("plain", { resource });
    expect(await who(held)).toMatchObject({ status: 200 });
    await rsa.rotate();
    clock.aheadMs = 9 * minuteMs;
    expect(await who(held)).toMatchObject({ status: 200 });
    clock.aheadMs = 11 * minuteMs;
    expect(await who(held)).toMatchObject(refused);
  });
});

describe("a token that ends", () => {
  test("is believed half a minute longer than it lives, and no longer, whether it was seen before or not", async () => {
    const [seen = "", unseen = ""] = await Promise.all([1, 2].map(() => trusted.token("plain", { resource })));
    expect(await who(seen)).toMatchObject({ status: 200 });
    const leftMs = Number(decodeJwt(seen).exp) * 1000 - Date.now();
    clock.aheadMs = leftMs + 20_000;
    for (const token of [seen, unseen]) expect(await who(token)).toMatchObject({ status: 200 });
    clock.aheadMs = leftMs + 32_000;
    for (const token of [seen, unseen])
      expect(await who(token)).toMatchObject({ ...refused, body: { detail: "The token has expired." } });
  });
});
