import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pino } from "pino";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { PeerStoreConfig } from "../../../../crds/config.ts";
import type { PeerOAuth2Config } from "../../../../crds/store-credentials.ts";
import { defaultSettings } from "../../../../runtime/config/settings/settings-schema.ts";
import { createAuthenticate } from "../../../../runtime/http/authentication/authenticate.ts";
import { KeySource, loadKeys } from "../../../../runtime/http/authentication/key-source.ts";
import { listenServer, stopServer } from "../../../../runtime/http/server/listen-server.ts";
import { createPublicServer } from "../../../../runtime/http/server/public-server.ts";
import { peerRoutes } from "../../../../runtime/http/routes/peers.ts";
import { createMetricsApi } from "../../../../runtime/metrics/api/create-metrics-api.ts";
import { createPeerClient } from "../../../../runtime/metrics/federation/peer-client.ts";
import { createStore, type Store } from "../../../../runtime/stores/store.ts";
import {
  clientSecret,
  startAuthorizationServer,
  type AuthorizationServer,
} from "../../../support/authorization-server.ts";
import { createCertificateAuthority } from "../../../support/tls/certificate-authority.ts";
import { temporaryFolder, type TemporaryFolder } from "../../../support/temp-folder.ts";
import { configOf, metricConfig, storeConfig } from "../../metrics/oracle/universe.ts";

const authority = createCertificateAuthority("peers");
const own = createCertificateAuthority("clients").issue({ commonName: "eu" });
const resource = "https://api.example";
const startMsMax = 60_000;

let folder: TemporaryFolder;
let id: AuthorizationServer;
let url = "";
const closing: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  folder = await temporaryFolder("peer-token");
  id = await startAuthorizationServer("ES256");
  const jwksCaFile = join(folder.path, "id.crt");
  await writeFile(jwksCaFile, id.ca);
  const settings = { issuer: id.issuer, audiences: [resource], jwksUrl: id.jwksUrl, jwksCaFile, algorithms: ["ES256"] };
  // What a peer is asked at first needs no store.
  const stores = [storeConfig({ name: "latam", region: "latam", url: "http://127.0.0.1:9" })];
  const metrics = [metricConfig("lag", stores, { source: { kind: "gauge", name: "lag", matchers: [] } })];
  const api = createMetricsApi({ config: configOf(stores, metrics), log: { warn: () => undefined } });
  const app = createPublicServer({
    log: pino({ level: "silent" }),
    observe: () => undefined,
    now: Date.now,
    tls: authority.issue({ commonName: "latam", names: ["localhost"] }),
    authenticate: createAuthenticate(
      [{ settings, keys: new KeySource(() => loadKeys(settings), Date.now) }],
      defaultSettings.claims,
      Date.now,
    ),
    routes: peerRoutes(api),
  });
  url = await listenServer(app, "127.0.0.1", 0);
  closing.push(
    () => stopServer(app, 1_000),
    () => api.stop(),
    () => id.close(),
    () => folder.remove(),
  );
}, startMsMax);

afterAll(async () => {
  for (const close of closing) await close();
});

/** A store that fetches its token as `changes` say. */
function peerStore(changes: Partial<PeerOAuth2Config> = {}, secret = clientSecret): Store {
  const config: PeerStoreConfig = {
    ...storeConfig({ name: "latam", region: "latam", url }),
    prometheus: undefined,
    peer: {
      url,
      timeoutMs: 5_000,
      increases: "Extrapolated",
      auth: { kind: "oauth2", tokenUrl: id.tokenUrl, clientId: "bound", secret: "secret", resource, ...changes },
      tls: { ca: "ca", client: { certificate: "certificate", key: "key" }, serverName: "localhost" },
    },
  };
  const texts = { secret, ca: `${authority.cert}\n${id.ca}`, certificate: own.cert, key: own.key };
  const material = Object.fromEntries(
    Object.entries(texts).map(([name, text]) => [name, Buffer.from(text).toString("base64")]),
  );
  const store = createStore({ config, material, identity: "peer", now: Date.now, makePeerClient: createPeerClient });
  closing.unshift(() => store.close({ atOnce: true }));
  return store;
}

describe("a peer with client credentials", () => {
  test("gets a token of a real authorization server that is bound to the certificate", async () => {
    const store = peerStore();
    expect(await store.capabilities()).toMatchObject({ increases: "Extrapolated" });
    expect(store.state()).toBe("ok");
  });

  test("asks a token endpoint with a query", async () => {
    await peerStore({ tokenUrl: `${id.tokenUrl}?p=policy` }).capabilities();
    expect(id.requests).toContain("/token?p=policy");
  });

  test("refuses a token without a binding, however it was fetched", async () => {
    await expect(peerStore({ clientId: "plain" }).capabilities()).rejects.toMatchObject({
      kind: "refused",
      message: expect.stringContaining("token_invalid") as string,
    });
  });

  test("gets no request without a token, and errors leave out the response of the token endpoint", async () => {
    const wrong = "not-the-secret";
    await expect(peerStore({}, wrong).capabilities()).rejects.toMatchObject({
      kind: "status",
      message: `no access token from ${id.issuer}: HTTP 401 invalid_client`,
    });
    await expect(peerStore({ resource: "urn:other" }).capabilities()).rejects.toMatchObject({ kind: "refused" });
    await expect(peerStore({ tokenUrl: "https://127.0.0.1:9/token" }).capabilities()).rejects.toMatchObject({
      kind: "unreachable",
    });
  });
});
