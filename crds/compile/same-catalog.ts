import type { CatalogConfig, PeerConfig, StoreConfig } from "../config.ts";
import { canonicalJson } from "./canonical-json.ts";

/** True when two versions of a catalog differ only in the credentials and certificates of their stores. */
export function differInReferencesAlone(one: CatalogConfig, other: CatalogConfig): boolean {
  return canonicalJson(withoutReferences(one)) === canonicalJson(withoutReferences(other));
}

function withoutReferences({ schemaVersion, stores, metrics, slos }: CatalogConfig): object {
  return { schemaVersion, stores: stores.map(storeWithout), metrics, slos };
}

function storeWithout({ prometheus, peer, ...place }: StoreConfig): object {
  if (peer === undefined) {
    const { auth: _auth, tls, ...rest } = prometheus;
    return { ...place, prometheus: { ...rest, serverName: tls?.serverName } };
  }
  const { auth, tls, ...rest } = peer;
  return { ...place, peer: { ...rest, auth: authWithout(auth), serverName: tls.serverName } };
}

/** The address and the identity of credentials are part of the catalog. */
function authWithout(auth: PeerConfig["auth"]): object {
  return auth.kind === "oauth2" ? { ...auth, secret: undefined } : { kind: auth.kind };
}
