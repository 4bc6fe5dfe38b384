import { orEvery } from "../checks/permissions.ts";
import {
  producersOf,
  type CatalogConfig,
  type NetworksConfig,
  type PartnerConfig,
  type PeerConfig,
  type SelectsConfig,
  type SigningKeyConfig,
  type StoreConfig,
  type SubscriptionConfig,
} from "../config.ts";
import type { AwsRoleConfig, StoreOAuth2Config } from "../store-credentials.ts";
import { contains, parseCidr } from "../networks.ts";
import type { NamespaceGrant } from "../policy.ts";
import type {
  WebhookPartnerNetworks,
  WebhookPartnerSigningKey,
  WebhookPartnerSpec,
  WebhookPartnerSubscription,
} from "../types/webhook-partner.ts";
import { byText, canonicalJson } from "./canonical-json.ts";

/** Everything, in lists of tenants and producers. */
const every = "*";

/** Rights to events: those of these producers in these tenants. */
type Rights = Pick<NamespaceGrant, "tenants" | "producers">;

/**
 * An earlier version of a partner without everything that its present spec removed: keys, tenants, producers, content,
 * networks, and the deliveries themselves when it is paused. It never holds more than both versions. Narrowing it twice
 * by one spec changes nothing.
 * @param nowMs keys that ended before are removed
 */
export function narrowPartner(earlier: PartnerConfig, spec: WebhookPartnerSpec, nowMs: number): PartnerConfig {
  const { lastGoodSinceMs: _since, ...config } = release(earlier, spec.state);
  return {
    ...config,
    signing: {
      ...config.signing,
      keys: config.signing.keys.flatMap((key) => narrowKey(key, spec.signing.keys, nowMs)),
    },
    subscriptions: restrict(config.subscriptions, rightsOf(spec)).map((one) => alsoSelecting(one, spec.subscriptions)),
    networks: narrowNetworks(config.networks, spec.networks),
    state: spec.state === "Paused" ? "Paused" : config.state,
  };
}

/** The part of subscriptions within some rights. A subscription without a tenant or producer in them is dropped. */
export function restrict(
  subscriptions: readonly SubscriptionConfig[],
  { tenants, producers }: Rights,
): readonly SubscriptionConfig[] {
  return subscriptions.flatMap((subscription) => {
    const given = producersOf(subscription);
    const [whose, whom] = [common(subscription.tenants, tenants), common(orEvery(given), producers)];
    if (whose.length === 0 || whom.length === 0) return [];
    const kept = whom.includes(every) ? [] : whom;
    const { selects } = subscription;
    const named = selects === undefined ? { producers: kept } : { selects: { ...selects, producers: kept } };
    return [{ ...subscription, tenants: whose, ...named }];
  });
}

/** A subscription that also requires the content and the payload that its present namesake requires. */
function alsoSelecting(
  subscription: SubscriptionConfig,
  present: readonly WebhookPartnerSubscription[],
): SubscriptionConfig {
  const namesake = present.find(({ name }) => name === subscription.name);
  if (namesake === undefined || (namesake.matchers ?? namesake.payload) === undefined) return subscription;
  const { producers: _kept, selects, ...rest } = subscription;
  const content = bothContents(selects, namesake);
  return { ...rest, selects: { ...selects, producers: producersOf(subscription), ...content } };
}

function bothContents(
  earlier: SelectsConfig | undefined,
  { matchers = [], payload }: WebhookPartnerSubscription,
): Pick<SelectsConfig, "matchers" | "payload"> {
  const all = withMissing(earlier?.matchers ?? [], matchers);
  const parts = withMissing(earlier?.payload ?? [], payload === undefined ? [] : [payload]);
  return { ...(all.length > 0 && { matchers: all }), ...(parts.length > 0 && { payload: parts }) };
}

function withMissing<Item>(own: readonly Item[], more: readonly Item[]): readonly Item[] {
  const known = new Set(own.map(canonicalJson));
  return [...own, ...more.filter((item) => !known.has(canonicalJson(item)))];
}

/**
 * A version as it was before a right was withdrawn from it or a unique key was lost.
 * @param state state of the spec, which a held part does not show
 */
export function release(earlier: PartnerConfig, state: PartnerConfig["state"]): PartnerConfig {
  const { held, withdrawn = [], ...config } = earlier;
  if (held === undefined || held === "unresolved") return earlier;
  const names = new Set(withdrawn.map(({ name }) => name));
  const subscriptions = [...config.subscriptions.filter(({ name }) => !names.has(name)), ...withdrawn];
  return { ...config, subscriptions: subscriptions.sort((one, other) => byText(one.name, other.name)), state };
}

function rightsOf({ subscriptions }: WebhookPartnerSpec): Rights {
  return {
    tenants: subscriptions.flatMap(({ tenants }) => tenants),
    producers: subscriptions.flatMap(({ producers }) => orEvery(producers)),
  };
}

/** The names in both lists. */
function common(one: readonly string[], other: readonly string[]): readonly string[] {
  if (other.includes(every)) return one;
  if (one.includes(every)) return [...new Set(other)].sort(byText);
  return one.filter((name) => other.includes(name));
}

/** Drops a key that the spec no longer names, or that has ended. */
function narrowKey(
  key: SigningKeyConfig,
  present: readonly WebhookPartnerSigningKey[],
  nowMs: number,
): readonly SigningKeyConfig[] {
  const written = present.find(({ id }) => id === key.id);
  if (written === undefined) return [];
  const { notAfterMs = Number.POSITIVE_INFINITY, ...rest } = key;
  const endsMs = Math.min(
    notAfterMs,
    written.notAfter === undefined ? Number.POSITIVE_INFINITY : Date.parse(written.notAfter),
  );
  if (endsMs <= nowMs) return [];
  return [{ ...rest, ...(Number.isFinite(endsMs) ? { notAfterMs: endsMs } : {}) }];
}

function narrowNetworks(earlier: NetworksConfig, present: WebhookPartnerNetworks): NetworksConfig {
  const kept = earlier.allowCidrs.filter((inner) => present.allowCidrs.some((outer) => liesIn(inner, outer)));
  const narrower = present.allowCidrs.filter((inner) => earlier.allowCidrs.some((outer) => liesIn(inner, outer)));
  return {
    allowCidrs: [...new Set([...kept, ...narrower])].sort(byText),
    allowPlaintext: earlier.allowPlaintext && present.allowPlaintext,
  };
}

function liesIn(inner: string, outer: string): boolean {
  const [block, around] = [parseCidr(inner), parseCidr(outer)];
  return block !== undefined && around !== undefined && contains(around, block);
}

/** True when two versions of a catalog differ only in the credentials and certificates of their stores. */
export function differInReferencesAlone(one: CatalogConfig, other: CatalogConfig): boolean {
  return canonicalJson(withoutReferences(one)) === canonicalJson(withoutReferences(other));
}

function withoutReferences({ schemaVersion, stores, metrics, slos }: CatalogConfig): object {
  return { schemaVersion, stores: stores.map(storeWithout), metrics, slos };
}

function storeWithout({ prometheus, peer, ...place }: StoreConfig): object {
  if (peer === undefined) {
    const { auth, tls, ...rest } = prometheus;
    const isNamed = auth?.kind === "oauth2" || auth?.kind === "awsRole";
    const issued = isNamed ? { auth: authWithout(auth) } : {};
    return { ...place, prometheus: { ...rest, ...issued, serverName: tls?.serverName } };
  }
  const { auth, tls, ...rest } = peer;
  return { ...place, peer: { ...rest, auth: authWithout(auth), serverName: tls.serverName } };
}

/** The address and the identity of credentials are part of the catalog. */
function authWithout(auth: PeerConfig["auth"] | StoreOAuth2Config | AwsRoleConfig): object {
  if (auth.kind === "awsRole") return auth;
  return auth.kind === "oauth2" ? { ...auth, secret: undefined } : { kind: auth.kind };
}
