// Partners: compiled partners, their lanes, marks and registry, and the routing table. Workers are in `workers/`.

import { hash } from "node:crypto";
import type { EndpointTlsConfig, PartnerConfig, RuntimeConfig } from "../../../crds/config.ts";
import { materialIdsOf } from "../../../crds/material.ts";
import { sensitiveFields } from "../../../crds/declared-types.ts";
import type { PayloadSelection, SensitiveFields } from "../events/payload-selection.ts";
import type { TlsIdentity } from "../sending/guarded-connect.ts";
import { partnerKey } from "../ids.ts";
import { readSigners, signersAt, type Signer } from "../signing/keys.ts";
import {
  compileInOrder,
  firstMet,
  valuesFor,
  type EventFacts,
  type Matcher,
  type Subscription,
} from "../events/subscriptions.ts";

/** A compiled partner: its configuration with matchers, signing keys, lane and TLS identity. */
export interface Partner {
  readonly config: PartnerConfig;
  /** `namespace/name`, for logs and metrics. */
  readonly label: string;
  readonly key: string;
  /** The lane of its deliveries, its own or a shared one. */
  readonly lane: string;
  /** All lanes that may hold messages of the partner. */
  readonly lanes: readonly string[];
  /** Changes exactly when the configuration, the material or the lane of the partner changes. */
  readonly fingerprint: string;
  /** Current and former signing keys, the newest first; none when the first has no material. */
  readonly signers: readonly Signer[];
  /** Trusted CA and client certificate. @default the roots of the system, no client certificate */
  readonly tls?: TlsIdentity;
  /** Secret of the OAuth 2.0 client, when there is one. */
  readonly clientSecret?: string;
  readonly matches: Matcher;
  /** The part of an event that is sent; empty for the whole event, or if no subscription matches. */
  readonly payloadFor: (event: EventFacts) => PayloadSelection;
  /** The subscriptions whose type, tenant and producer match an event, and the same of those withdrawn. */
  readonly candidateFor: (event: EventFacts) => Omit<RouteCandidate, "partner">;
  /** Returns the URL for events of this type. */
  urlFor(type: string): URL;
}

/** A partner that gets an event if the content meets one of its subscriptions. */
export interface RouteCandidate {
  readonly partner: Partner;
  readonly wanted: readonly Subscription[];
  /** Subscriptions whose right was withdrawn. */
  readonly withdrawn: readonly Subscription[];
}

/** The known part of a partner that may no longer be configured. */
export interface NamedPartner extends Pick<Partner, "label" | "key"> {
  readonly config: Pick<PartnerConfig, "uid" | "namespace" | "name" | "specDigest" | "deadLetterSeconds"> &
    Partial<Pick<PartnerConfig, "generation">>;
}

const domainPlaceholder = "{domain}";
/** Limit of cached URLs, because producers choose the domains. Further URLs are parsed each time. */
const urlsMax = 256;

/**
 * Largest number of partners with their own lane in a stream without replicas. Each own lane slows acknowledgements,
 * which scan all consumers.
 */
export const ownLanesMaxAlone = 800;
/** Number of lanes that all other partners share. */
const sharedLanes = 32;
const none: ReadonlySet<string> = new Set();
const noCandidate = { wanted: [], withdrawn: [] };
/** Takes the place of a subscription for the ping of a partner. */
const pinged = {
  wanted: [{ name: "", matchers: [], payloadOf: () => [], suits: () => true, holds: () => true }],
  withdrawn: [],
};

/** The lane of a partner, and all lanes that may hold messages for it. */
interface LanePlace {
  readonly lane: string;
  readonly lanes: readonly string[];
}

const sharedForm = /^shared-\d+$/u;

/**
 * Compiles the partners of a configuration. An unchanged partner keeps its object of `previous`.
 *
 * @param promoted keys of the partners that get an own lane first
 */
export function compilePartners(
  config: RuntimeConfig,
  previous: readonly Partner[],
  promoted: ReadonlySet<string> = none,
  ownLanesMax = ownLanesMaxAlone,
): readonly Partner[] {
  const known = new Map(previous.map((partner) => [partner.fingerprint, partner]));
  const keys = config.partners.map(({ uid }) => partnerKey(uid));
  const sensitive = sensitiveFields(config);
  const places = assignLanes(keys, promoted, ownLanesMax);
  return config.partners.map((partner, index) => {
    const key = keys[index] ?? "";
    const place = places.get(key) ?? { lane: key, lanes: [key] };
    const classes = usesClasses(partner) ? [...sensitive] : [];
    const bytes = materialIdsOf(partner).map((id) => config.material[id] ?? null);
    const fingerprint = hash("sha256", JSON.stringify([partner, bytes, place, ...classes]), "base64url");
    return (
      known.get(fingerprint) ?? compilePartner(partner, config.material, { key, ...place, fingerprint }, sensitive)
    );
  });
}

function compilePartner(
  config: PartnerConfig,
  material: RuntimeConfig["material"],
  known: Pick<Partner, "key" | "lane" | "lanes" | "fingerprint">,
  fields: ReadonlyMap<string, ReturnType<SensitiveFields>>,
): Partner {
  const sensitive: SensitiveFields = (type) => fields.get(type) ?? [];
  const { key } = known;
  const { scheme, keys } = config.signing;
  const subscriptions = compileInOrder(config.subscriptions, sensitive);
  const valuesOf = valuesFor(subscriptions);
  const lost = compileInOrder(config.withdrawn ?? []);
  const candidateFor = (event: EventFacts): Omit<RouteCandidate, "partner"> => {
    if (event.only !== undefined) return event.only === key ? pinged : noCandidate;
    if (event.about === key) return noCandidate;
    const suiting = (list: readonly Subscription[]) => list.filter(({ suits }) => suits(event));
    return { wanted: suiting(subscriptions), withdrawn: suiting(lost) };
  };
  return {
    config,
    label: `${config.namespace}/${config.name}`,
    ...known,
    signers: readSigners(scheme, keys, material),
    ...endpointSecrets(config.endpoint, material),
    matches: (event) => firstMet(candidateFor(event).wanted, valuesOf(event)) !== undefined,
    payloadFor: (event) => firstMet(candidateFor(event).wanted, valuesOf(event))?.payloadOf(event.type) ?? [],
    candidateFor,
    urlFor: urlsOf(config.endpoint.url),
  };
}

/** Whether the classes of event catalogs are part of what the partner gets. */
function usesClasses({ subscriptions }: PartnerConfig): boolean {
  const payloads = subscriptions.flatMap(({ selects }) => selects?.payload ?? []);
  return payloads.some(({ excludeClasses }) => excludeClasses !== undefined);
}

/** Whether the configuration permits sending to the partner at a time in Unix milliseconds. */
export function maySendTo({ config, signers }: Partner, nowMs: number): boolean {
  return config.state === "Active" && config.held === undefined && signersAt(signers, false, nowMs).length > 0;
}

function endpointSecrets(
  { tls, oauth2 }: PartnerConfig["endpoint"],
  material: RuntimeConfig["material"],
): Pick<Partner, "tls" | "clientSecret"> {
  const text = (id: string): string => Buffer.from(material[id] ?? "", "base64").toString();
  return {
    ...(tls === undefined ? {} : { tls: identityOf(tls, text) }),
    ...(oauth2 === undefined ? {} : { clientSecret: text(oauth2.secret) }),
  };
}

function identityOf({ ca, client }: EndpointTlsConfig, text: (id: string) => string): TlsIdentity {
  return {
    ...(ca === undefined ? {} : { ca: text(ca) }),
    ...(client === undefined ? {} : { cert: text(client.certificate), key: text(client.key) }),
  };
}

function urlsOf(template: string): (type: string) => URL {
  if (!template.includes(domainPlaceholder)) {
    const url = new URL(template);
    return () => url;
  }
  const urls = new Map<string, URL>();
  return (type) => {
    const [domain = ""] = type.split(".");
    const url = urls.get(domain) ?? new URL(template.replaceAll(domainPlaceholder, domain));
    if (urls.size < urlsMax) urls.set(domain, url);
    return url;
  };
}

/** Whether partners share the lane. An own lane is named by the partner key, which has another form. */
export function isSharedLane(lane: string): boolean {
  return sharedForm.test(lane);
}

/**
 * Assigns lanes to partners by their keys. Up to `ownLanesMax` partners all have their own lane. Beyond that, promoted
 * partners get one first, then the rest in the order of their keys, which are hashes. A partner that is added or
 * removed thus moves at most one other.
 */
export function assignLanes(
  keys: readonly string[],
  promoted: ReadonlySet<string>,
  ownLanesMax: number,
): ReadonlyMap<string, LanePlace> {
  const own = (key: string): LanePlace => ({ lane: key, lanes: [key] });
  if (keys.length <= ownLanesMax) return new Map(keys.map((key) => [key, own(key)]));
  const ranked = keys.toSorted((a, b) => Number(promoted.has(b)) - Number(promoted.has(a)) || (a < b ? -1 : 1));
  return new Map(
    ranked.map((key, rank) => {
      const shared = sharedLane(key);
      const lanes = [key, shared];
      return [key, rank < ownLanesMax ? { lane: key, lanes } : { lane: shared, lanes }];
    }),
  );
}

function sharedLane(key: string): string {
  const [first = 0, second = 0] = hash("sha256", key, "buffer");
  return `shared-${((first << 8) | second) % sharedLanes}`;
}

/** A partner that is configured, or was when a delivery to it began. */
export type Recipient = NamedPartner & Pick<Partner, "lane" | "lanes">;

/** A folder of files that a program reads its configuration from. */
export interface ConfigFolder {
  /** Absolute. */
  readonly path: string;
  /** How the program was started: `heliograph` or `npx heliograph`. */
  readonly program: string;
  /** The file that declares a partner, by `namespace/name`; undefined if it is unknown. */
  readonly fileOf: (partner: string) => string | undefined;
}
