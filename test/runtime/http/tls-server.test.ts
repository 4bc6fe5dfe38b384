import { createHash, X509Certificate } from "node:crypto";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { type ConnectionOptions, connect as connectTls, type TLSSocket } from "node:tls";
import type { FastifyInstance } from "fastify";
import { pino } from "pino";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { defaultSettings } from "../../../runtime/config/settings/settings-schema.ts";
import { createAuthenticate } from "../../../runtime/http/authentication/authenticate.ts";
import { createCertificateReader } from "../../../runtime/http/authentication/client-certificate.ts";
import { KeySource } from "../../../runtime/http/authentication/key-source.ts";
import { listenServer, stopServer } from "../../../runtime/http/server/listen-server.ts";
import { createPublicServer } from "../../../runtime/http/server/public-server.ts";
import { openTlsFiles } from "../../../runtime/http/server/tls-files.ts";
import { createCertificateAuthority } from "../../support/tls/certificate-authority.ts";
import { askHttps, type HttpsAnswer, type HttpsRequest } from "../../support/tls/https.ts";
import { temporaryFolder, type TemporaryFolder } from "../../support/temp-folder.ts";
import { makeIssuer, signToken, type TestIssuer } from "../../support/tokens.ts";
import { waitFor } from "../../support/wait.ts";
import type { Certificate } from "../../support/tls/x509.ts";

const servers = createCertificateAuthority("servers");
const clients = createCertificateAuthority("clients");
const strangers = createCertificateAuthority("strangers");
const own = clients.issue({ commonName: "dashboards" });
const other = clients.issue({ commonName: "reports" });
const foreign = strangers.issue({ commonName: "dashboards" });

let folder: TemporaryFolder;
let issuer: TestIssuer;
const closing: (() => Promise<void> | void)[] = [];
const file = (name: string): string => join(folder.path, name);

beforeAll(async () => {
  folder = await temporaryFolder("tls");
  issuer = await makeIssuer("https://id.example");
  await writeFile(file("clients.crt"), clients.cert);
});

afterAll(async () => {
  for (const close of closing.toReversed()) await close();
  await folder.remove();
});

interface Served {
  readonly port: number;
  readonly log: readonly { readonly msg: string }[];
  serve(certificate: Certificate): Promise<void>;
}

/** A server whose tokens have to be bound to a certificate, on files of its own. */
async function start(
  name: string,
  changes: { clientCaFile?: string; minVersion?: "TLSv1.2" | "TLSv1.3" } = {},
): Promise<Served> {
  const settings = { certFile: file(`${name}.crt`), keyFile: file(`${name}.key`), ...changes };
  const serve = async ({ cert, key }: Certificate): Promise<void> => {
    await writeFile(settings.keyFile, key);
    await writeFile(settings.certFile, cert);
  };
  await serve(servers.issue({ commonName: "first", names: ["localhost"] }));
  const files = await openTlsFiles(settings);
  const lines: { readonly msg: string }[] = [];
  const log = pino({}, { write: (line: string) => lines.push(JSON.parse(line) as { readonly msg: string }) });
  const keys = new KeySource(async () => ({ keys: [issuer.publicJwk] }), Date.now);
  const trusted = { settings: { issuer: issuer.issuer, audiences: ["heliograph"], algorithms: ["ES256"] }, keys };
  const app: FastifyInstance = createPublicServer({
    log,
    observe: () => undefined,
    now: Date.now,
    tls: files.options,
    readCertificate: createCertificateReader({ tls: settings }),
    authenticate: createAuthenticate([trusted], defaultSettings.claims, Date.now, { tokenBinding: "Certificate" }),
    routes: [
      {
        method: "GET",
        path: "/who",
        scopes: ["s"],
        handle: async ({ caller }) => ({ status: 200, body: { client: caller.client } }),
      },
    ],
  });
  const url = await listenServer(app, "127.0.0.1", 0);
  expect(url).toMatch(/^https:/u);
  closing.push(() => stopServer(app, 1000), files.follow(app.server, log, 20));
  return { port: Number(new URL(url).port), log: lines, serve };
}

async function token(boundTo: Certificate | undefined): Promise<string> {
  const cnf =
    boundTo === undefined
      ? undefined
      : { "x5t#S256": createHash("sha256").update(new X509Certificate(boundTo.cert).raw).digest("base64url") };
  return signToken(issuer, {
    iss: issuer.issuer,
    aud: "heliograph",
    sub: "dashboards",
    scope: "s",
    exp: Math.floor(Date.now() / 1000) + 600,
    cnf,
  });
}

type Shown = Pick<HttpsRequest, "client" | "headers">;

const ask = ({ port }: Served, bearer: string, { headers = {}, ...shown }: Shown = {}): Promise<HttpsAnswer> =>
  askHttps(`https://127.0.0.1:${port}/who`, {
    ca: servers.cert,
    headers: { authorization: `Bearer ${bearer}`, ...headers },
    ...shown,
  });

async function handshake({ port }: Served, options: ConnectionOptions): Promise<TLSSocket> {
  const socket = connectTls({ host: "127.0.0.1", port, servername: "localhost", ca: servers.cert, ...options });
  await once(socket, "secureConnect");
  return socket;
}

describe("TLS at the pod with a token that is bound to a certificate", () => {
  test("is valid for whoever shows that certificate, and for nobody else", async () => {
    const served = await start("bound");
    const bound = await token(own);
    expect(await ask(served, bound, { client: own })).toMatchObject({
      status: 200,
      headers: { "strict-transport-security": "max-age=31536000" },
    });
    expect(await ask(served, bound, { client: other })).toMatchObject({ status: 401, body: { code: "token_invalid" } });
    expect(await ask(served, bound)).toMatchObject({ status: 401, body: { code: "token_invalid" } });
    expect(await ask(served, await token(undefined), { client: own })).toMatchObject({
      status: 401,
      body: { code: "token_invalid" },
    });
    expect(await ask(served, await token(foreign), { client: foreign })).toMatchObject({ status: 200 });
  });

  test("believes no header, since nobody is a trusted proxy", async () => {
    const served = await start("headers");
    const hash = createHash("sha256").update(new X509Certificate(own.cert).raw).digest("hex");
    const headers = { "x-forwarded-client-cert": `Hash=${hash}`, "x-ssl-client-cert": encodeURIComponent(own.cert) };
    expect(await ask(served, await token(own), { headers })).toMatchObject({
      status: 401,
      body: { code: "token_invalid" },
    });
  });

  test("knows the certificate of a session that is resumed", async () => {
    const served = await start("resumed");
    const bearer = await token(own);
    const first = await handshake(served, { ...own, maxVersion: "TLSv1.2" });
    const session = first.getSession();
    first.destroy();
    const again = await handshake(served, {
      ...own,
      maxVersion: "TLSv1.2",
      ...(session === undefined ? {} : { session }),
    });
    expect(again.isSessionReused()).toBe(true);
    again.write(`GET /who HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${bearer}\r\nconnection: close\r\n\r\n`);
    const [answer] = (await once(again, "data")) as [Buffer];
    expect(answer.toString()).toMatch(/^HTTP\/1.1 200 /u);
    again.destroy();
  });

  test("counts only certificates of the authorities that are named", async () => {
    const served = await start("authority", { clientCaFile: file("clients.crt") });
    expect(await ask(served, await token(own), { client: own })).toMatchObject({ status: 200 });
    expect(await ask(served, await token(foreign), { client: foreign })).toMatchObject({
      status: 401,
      body: { code: "token_invalid" },
    });
  });

  test("counts those of an authority that the file names later, and keeps open connections", async () => {
    const clientCaFile = file("renewed-clients.crt");
    await writeFile(clientCaFile, clients.cert);
    const served = await start("renewed-authority", { clientCaFile });
    const open = await handshake(served, own);
    await writeFile(clientCaFile, strangers.cert);
    const bearer = await token(foreign);
    const isCounted = async (): Promise<boolean> => (await ask(served, bearer, { client: foreign })).status === 200;
    await waitFor(isCounted, { timeoutMs: 20_000, what: "the new authority" });
    expect(await ask(served, await token(own), { client: own })).toMatchObject({ status: 401 });
    open.write(`GET /who HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${await token(own)}\r\n\r\n`);
    const [answer] = (await once(open, "data")) as [Buffer];
    expect(answer.toString()).toMatch(/^HTTP\/1.1 200 /u);
    open.destroy();
  });
});

describe("the TLS of the public port", () => {
  test("refuses versions below the least one", async () => {
    const served = await start("version", { minVersion: "TLSv1.3" });
    await expect(handshake(served, { maxVersion: "TLSv1.2" })).rejects.toThrow(/version/iu);
    const legacy = await start("legacy");
    await expect(
      handshake(legacy, { minVersion: "TLSv1", maxVersion: "TLSv1.1", ciphers: "ALL@SECLEVEL=0" }),
    ).rejects.toThrow(/version|protocol/iu);
    for (const maxVersion of ["TLSv1.2", "TLSv1.3"] as const) (await handshake(legacy, { maxVersion })).destroy();
  });

  test("hangs up on whoever speaks plain HTTP", async () => {
    const { port } = await start("plain");
    const socket = connect(port, "127.0.0.1");
    let received = "";
    socket.on("data", (chunk: Buffer) => {
      received += chunk.toString("latin1");
    });
    socket.on("error", () => undefined);
    socket.write("GET /who HTTP/1.1\r\nhost: x\r\n\r\n");
    await once(socket, "close");
    expect(received).not.toMatch(/HTTP/u);
  });

  test("serves a new certificate when the files change, and the one before when they are broken", async () => {
    const served = await start("renewed");
    const shown = async (): Promise<string> => {
      const socket = await handshake(served, {});
      const { subject } = socket.getPeerCertificate();
      socket.destroy();
      return String(subject.CN);
    };
    expect(await shown()).toBe("first");
    await served.serve(servers.issue({ commonName: "second", names: ["localhost"] }));
    await waitFor(async () => (await shown()) === "second", { timeoutMs: 20_000, what: "the new certificate" });
    await served.serve({ cert: "no certificate", key: "no key" });
    await waitFor(() => served.log.some(({ msg }) => /unusable/u.test(msg)), {
      timeoutMs: 20_000,
      what: "the fault to be logged",
    });
    expect(await shown()).toBe("second");
    await served.serve(servers.issue({ commonName: "third", names: ["localhost"] }));
    await waitFor(async () => (await shown()) === "third", { timeoutMs: 20_000, what: "the third certificate" });
  });

  test("is not opened with a key that is not the certificate's", async () => {
    const [first, second] = [servers.issue({ commonName: "a" }), servers.issue({ commonName: "b" })];
    await writeFile(file("mixed.crt"), first.cert);
    await writeFile(file("mixed.key"), second.key);
    await expect(openTlsFiles({ certFile: file("mixed.crt"), keyFile: file("mixed.key") })).rejects.toThrow(/key/iu);
  });
});
