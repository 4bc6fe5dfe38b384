import { tenantHeaderOf } from "../checks/metric-store.ts";
import type { StoreEntry } from "../checks/store-references.ts";
import {
  queryDeadlineMsDefault,
  type PeerConfig,
  type PrometheusConfig,
  type StoreConfig,
  type StorePlace,
} from "../config.ts";
import type { AwsRoleConfig, AwsSigningConfig, PeerOAuth2Config, StoreTlsConfig } from "../store-credentials.ts";
import type {
  MetricCatalogStore,
  MetricCatalogStorePeer,
  MetricCatalogStorePeerAuth,
  MetricCatalogStorePeerAuthOauth2,
  MetricCatalogStorePrometheus,
  MetricCatalogStorePrometheusAuth,
  MetricCatalogStorePrometheusAuthSigv4,
} from "../types/metric-catalog.ts";

const secondMs = 1_000;
const resolutionSeconds = { "5m": 300, "1h": 3_600 } as const;

/** One store of a catalog. `entries` are those that were found for it. */
export function compileStore(store: MetricCatalogStore, entries: readonly StoreEntry[]): StoreConfig {
  const { prometheus, peer } = store;
  const material: MaterialFor = (use) => entries.find((entry) => entry.use === use)?.material;
  if (peer !== undefined) return { ...placeOf(store), peer: compilePeer(peer, material) };
  if (prometheus === undefined) throw new TypeError("a store without a kind was not rejected");
  const tenantHeader = tenantHeaderOf(store);
  return {
    ...placeOf(store),
    prometheus: { ...compilePrometheus(prometheus, material), ...(tenantHeader === undefined ? {} : { tenantHeader }) },
  };
}

function placeOf({
  name,
  region,
  residency,
  environment,
  tenancy,
  labelMap,
  settleSeconds,
}: MetricCatalogStore): StorePlace {
  return {
    name,
    region,
    residency: residency ?? region,
    ...(environment === undefined ? {} : { environment }),
    tenancy,
    labelMap,
    settleSeconds,
  };
}

/**
 * Warnings for valid values of one store that are probably mistakes.
 * @param settledSeconds age at which the newest sample has certainly arrived
 */
export function storeWarnings(
  { name, settleSeconds, prometheus, peer }: MetricCatalogStore,
  settledSeconds: number,
): readonly string[] {
  const { timeoutSeconds } = prometheus ?? peer ?? { timeoutSeconds: 0 };
  return [
    ...(timeoutSeconds * secondMs <= queryDeadlineMsDefault
      ? []
      : [
          `the store ${name} has ${timeoutSeconds} s to respond, but a query times out earlier, after ` +
            `metrics.deadlineMs of the settings (default ${queryDeadlineMsDefault} ms)`,
        ]),
    ...(settleSeconds >= settledSeconds
      ? []
      : [`the store ${name} settles after ${settleSeconds} s, before 2 intervals (${settledSeconds} s) passed`]),
    ...(prometheus === undefined ? [] : plaintextWarnings(name, prometheus)),
  ];
}

function plaintextWarnings(name: string, { url, auth }: MetricCatalogStorePrometheus): readonly string[] {
  if (auth === undefined) return [];
  const isPlain = (one = ""): boolean => one.startsWith("http:");
  return [
    ...(isPlain(url) ? [`the credentials for the store ${name} are sent over plain http`] : []),
    ...(isPlain(auth.oauth2?.tokenUrl)
      ? [`the client secret of the store ${name} is sent to its token endpoint over plain http`]
      : []),
  ];
}

type MaterialFor = (use: StoreEntry["use"]) => string | undefined;

function compilePrometheus(prometheus: MetricCatalogStorePrometheus, material: MaterialFor): PrometheusConfig {
  const { url, timeoutSeconds, flavour, headers, maxSourceResolution } = prometheus;
  return {
    url,
    timeoutMs: timeoutSeconds * secondMs,
    flavour,
    headers: Object.fromEntries(headers.map(({ name, value }) => [name.toLowerCase(), value])),
    ...compileAuth(prometheus.auth, material),
    ...compileTls(prometheus, material),
    ...(maxSourceResolution === undefined
      ? {}
      : { maxSourceResolutionSeconds: resolutionSeconds[maxSourceResolution] }),
  };
}

/** Its token and its certificate were found, else the catalog would not be compiled. */
function compilePeer(
  { url, timeoutSeconds, increases, auth, tls }: MetricCatalogStorePeer,
  material: MaterialFor,
): PeerConfig {
  const client = { certificate: material("certificate") ?? "", key: material("private key") ?? "" };
  return {
    url,
    timeoutMs: timeoutSeconds * secondMs,
    increases,
    auth: compilePeerAuth(auth, material),
    tls: { ...compileTls({ tls }, material).tls, client },
  };
}

function compilePeerAuth({ oauth2 }: MetricCatalogStorePeerAuth, material: MaterialFor): PeerConfig["auth"] {
  if (oauth2 === undefined) return { kind: "bearer", token: material("token") ?? "" };
  return compileOAuth2(oauth2, material);
}

function compileOAuth2(
  { tokenUrl, clientId, resource }: MetricCatalogStorePeerAuthOauth2,
  material: MaterialFor,
): PeerOAuth2Config {
  return {
    kind: "oauth2",
    tokenUrl,
    clientId,
    secret: material("password") ?? "",
    ...(resource === undefined ? {} : { resource }),
  };
}

function compileSigning(
  { region, webIdentity }: MetricCatalogStorePrometheusAuthSigv4,
  material: MaterialFor,
): AwsSigningConfig | AwsRoleConfig {
  if (webIdentity !== undefined) return { kind: "awsRole", region, roleArn: webIdentity.roleArn };
  const sessionToken = material("session token");
  const keys = {
    accessKeyId: material("access key id") ?? "",
    secretAccessKey: material("secret access key") ?? "",
    ...(sessionToken === undefined ? {} : { sessionToken }),
  };
  return { kind: "sigv4", region, keys };
}

function compileAuth(
  { oauth2, sigv4 }: MetricCatalogStorePrometheusAuth = {},
  material: MaterialFor,
): Pick<PrometheusConfig, "auth"> {
  if (oauth2 !== undefined) {
    const { scopes, audience } = oauth2;
    const optional = { ...(scopes.length === 0 ? {} : { scopes }), ...(audience === undefined ? {} : { audience }) };
    return { auth: { ...compileOAuth2(oauth2, material), ...optional } };
  }
  if (sigv4 !== undefined) return { auth: compileSigning(sigv4, material) };
  const [username, password, token] = [material("user name"), material("password"), material("token")];
  if (username !== undefined && password !== undefined) return { auth: { kind: "basic", username, password } };
  return token === undefined ? {} : { auth: { kind: "bearer", token } };
}

function compileTls(
  { tls }: Pick<MetricCatalogStorePrometheus, "tls">,
  material: MaterialFor,
): { readonly tls?: StoreTlsConfig } {
  if (tls === undefined) return {};
  const [ca, certificate, key] = [material("trusted certificates"), material("certificate"), material("private key")];
  return {
    tls: {
      ...(ca === undefined ? {} : { ca }),
      ...(certificate === undefined || key === undefined ? {} : { client: { certificate, key } }),
      ...(tls.serverName === undefined ? {} : { serverName: tls.serverName }),
    },
  };
}
