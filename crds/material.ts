import type { PeerConfig, PrometheusConfig, ResourceConfig, StoreConfig, PartnerConfig } from "./config.ts";

/** The ids of all the material that one resource's configuration names, each once. */
export function materialIdsOf(config: ResourceConfig): readonly string[] {
  return [...new Set(namedBy(config))];
}

/** The ids of the material that one store needs. */
export function storeMaterialIdsOf({ prometheus, peer }: StoreConfig): readonly string[] {
  const { auth, tls } = prometheus ?? peer;
  return [...credentialIdsOf(auth), tls?.ca, tls?.client?.certificate, tls?.client?.key].filter(
    (id) => id !== undefined,
  );
}

function credentialIdsOf(auth: (PrometheusConfig | PeerConfig)["auth"]): readonly string[] {
  if (auth === undefined || auth.kind === "awsRole") return [];
  if (auth.kind === "oauth2") return [auth.secret];
  if (auth.kind === "sigv4") return Object.values(auth.keys);
  return auth.kind === "basic" ? [auth.username, auth.password] : [auth.token];
}

function endpointMaterialIdsOf({ endpoint: { tls, oauth2 } }: PartnerConfig): readonly string[] {
  return [tls?.ca, tls?.client?.certificate, tls?.client?.key, oauth2?.secret].filter((id) => id !== undefined);
}

function namedBy(config: ResourceConfig): readonly string[] {
  if ("signing" in config)
    return [...config.signing.keys.map(({ material }) => material), ...endpointMaterialIdsOf(config)];
  return "stores" in config ? config.stores.flatMap(storeMaterialIdsOf) : [];
}
