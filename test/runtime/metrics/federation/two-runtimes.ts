import { createHash, X509Certificate } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pino } from "pino";
import type {
  ClassLimits,
  MetricConfig,
  PeerStoreConfig,
  RuntimeConfig,
  SloConfig,
  StoreConfig,
} from "../../../../crds/config.ts";
import { defaultSettings } from "../../../../runtime/config/settings/settings-schema.ts";
import { createAuthenticate } from "../../../../runtime/http/authentication/authenticate.ts";
import { createCertificateReader } from "../../../../runtime/http/authentication/client-certificate.ts";
import { KeySource } from "../../../../runtime/http/authentication/key-source.ts";
import { listenServer, stopServer } from "../../../../runtime/http/server/listen-server.ts";
import { createPublicServer } from "../../../../runtime/http/server/public-server.ts";
import { metricsRoutes } from "../../../../runtime/http/routes/metrics.ts";
import { peerRoutes } from "../../../../runtime/http/routes/peers.ts";
import { openTlsFiles } from "../../../../runtime/http/server/tls-files.ts";
import { createMetricsApi } from "../../../../runtime/metrics/api/create-metrics-api.ts";
import type { MetricsApi } from "../../../../runtime/metrics/metrics-api.ts";
import { createCertificateAuthority } from "../../../support/tls/certificate-authority.ts";
import { askHttps, type HttpsAnswer } from "../../../support/tls/https.ts";
import { temporaryFolder } from "../../../support/temp-folder.ts";
import { makeIssuer, signToken } from "../../../support/tokens.ts";
import type { Certificate } from "../../../support/tls/x509.ts";
import { configOf, storeConfig, wideLimits, type TestStore } from "../oracle/universe.ts";
import { startRecordingProxy, type RecordingProxy } from "./recording-proxy.ts";

const deadlineMs = 20_000;
const log = { warn: () => undefined };
/** Ids of the material that the store of the asking runtime names. */
const ids = {
  token: "n/peer/token@1",
  ca: "n/ca/ca.crt@1",
  certificate: "n/client/tls.crt@1",
  key: "n/client/tls.key@1",
} as const;

/** A runtime that reads Europe by itself and asks another one for Latin America, and one that reads everything. */
export interface TwoRuntimes {
  readonly asking: MetricsApi;
  readonly direct: MetricsApi;
  readonly proxy: RecordingProxy;
  /** Posts a body to the answering runtime itself. */
  readonly post: (body: string, sent: Sent) => Promise<HttpsAnswer>;
  readonly token: (claims: Readonly<Record<string, unknown>>, boundTo?: Certificate) => Promise<string>;
  readonly own: Certificate;
  readonly other: Certificate;
  /** Ends the answering runtime and what is in front of it. */
  killPeer(): Promise<void>;
  stop(): Promise<void>;
}

interface Sent {
  readonly token: string;
  /** @default none is shown */
  readonly client?: Certificate;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface TwoRuntimesOptions {
  readonly eu: readonly TestStore[];
  readonly latam: readonly TestStore[];
  readonly metricsOf: (stores: readonly StoreConfig[]) => readonly MetricConfig[];
  readonly slos?: readonly SloConfig[];
  /** Of every class. */
  readonly limits?: Partial<ClassLimits>;
  /** Of one query of the asking runtime. @default 20000 */
  readonly deadlineMs?: number;
}

const regions = ["eu", "latam"];

export async function startTwoRuntimes({
  eu,
  latam,
  metricsOf,
  slos = [],
  limits = {},
  ...options
}: TwoRuntimesOptions): Promise<TwoRuntimes> {
  const folder = await temporaryFolder("peers");
  const [servers, clients] = [createCertificateAuthority("servers"), createCertificateAuthority("clients")];
  const [own, other] = [clients.issue({ commonName: "eu" }), clients.issue({ commonName: "other" })];
  const shown = servers.issue({ commonName: "latam", names: ["localhost"] });
  const issuer = await makeIssuer("https://id.example");
  const token: TwoRuntimes["token"] = (claims, boundTo) => {
    const thumbprint =
      boundTo && createHash("sha256").update(new X509Certificate(boundTo.cert).raw).digest("base64url");
    const cnf = thumbprint === undefined ? undefined : { "x5t#S256": thumbprint };
    const exp = Math.floor(Date.now() / 1_000) + 600;
    return signToken(issuer, {
      iss: issuer.issuer,
      aud: "heliograph",
      sub: "runtime-eu",
      scope: "metrics:peer",
      tenants: ["*"],
      exp,
      cnf,
      ...claims,
    });
  };
  const configFor = (stores: readonly StoreConfig[]): RuntimeConfig => {
    const metrics = metricsOf(stores).map((metric) => ({ ...metric, complianceScope: { regions } }));
    const base = configOf(stores, metrics);
    const bounds = { ...wideLimits, ...limits };
    return {
      ...base,
      classDefaults: { A: bounds, B: bounds, C: bounds },
      catalogs: base.catalogs.map((catalog) => ({ ...catalog, slos })),
    };
  };
  const inLatam = latam.map((store) => storeConfig(store));
  // A peer of the peer, for a region that nobody answers for.
  const answering = createMetricsApi({ config: configFor([...inLatam, peerStore("eu", 9)]), log, deadlineMs });

  const files = {
    certFile: join(folder.path, "tls.crt"),
    keyFile: join(folder.path, "tls.key"),
    clientCaFile: join(folder.path, "clients.crt"),
  };
  await Promise.all([
    writeFile(files.certFile, shown.cert),
    writeFile(files.keyFile, shown.key),
    writeFile(files.clientCaFile, clients.cert),
  ]);
  const trusted = {
    settings: { issuer: issuer.issuer, audiences: ["heliograph"], algorithms: ["ES256"] },
    keys: new KeySource(async () => ({ keys: [issuer.publicJwk] }), Date.now),
  };
  const app = createPublicServer({
    log: pino({ level: "silent" }),
    observe: () => undefined,
    now: Date.now,
    tls: (await openTlsFiles(files)).options,
    readCertificate: createCertificateReader({ tls: files }),
    authenticate: createAuthenticate([trusted], defaultSettings.claims, Date.now),
    routes: [...metricsRoutes(answering), ...peerRoutes(answering)],
  });
  const port = Number(new URL(await listenServer(app, "127.0.0.1", 0)).port);
  const proxy = await startRecordingProxy(port, { shown, client: own, ca: servers.cert });

  const inEurope = eu.map((store) => storeConfig(store));
  const config = configFor([...inEurope, peerStore("latam", proxy.port)]);
  const texts = {
    [ids.token]: await token({}, own),
    [ids.ca]: servers.cert,
    [ids.certificate]: own.cert,
    [ids.key]: own.key,
  };
  const material = Object.fromEntries(
    Object.entries(texts).map(([id, text]) => [id, Buffer.from(text).toString("base64")]),
  );
  const asking = createMetricsApi({ config: { ...config, material }, log, deadlineMs, ...options });
  const direct = createMetricsApi({ config: configFor([...inEurope, ...inLatam]), log, deadlineMs });
  const killPeer = async (): Promise<void> => {
    await proxy.close();
    await stopServer(app, 1_000);
  };
  return {
    asking,
    direct,
    proxy,
    own,
    other,
    token,
    killPeer,
    post: (body, { token: bearer, headers = {}, ...sent }) =>
      askHttps(`https://127.0.0.1:${port}/v1/metrics/partials`, {
        method: "POST",
        ca: servers.cert,
        body,
        headers: { authorization: `Bearer ${bearer}`, "content-type": "application/json", ...headers },
        ...sent,
      }),
    async stop() {
      await Promise.all([asking.stop(), direct.stop(), answering.stop()]);
      await folder.remove();
    },
  };
}

function peerStore(region: string, port: number): PeerStoreConfig {
  return {
    name: region,
    region,
    residency: region,
    tenancy: "Labelled",
    labelMap: {},
    settleSeconds: 120,
    peer: {
      url: `https://127.0.0.1:${port}`,
      timeoutMs: 10_000,
      increases: "Extrapolated",
      auth: { kind: "bearer", token: ids.token },
      tls: { ca: ids.ca, client: { certificate: ids.certificate, key: ids.key }, serverName: "localhost" },
    },
  };
}
