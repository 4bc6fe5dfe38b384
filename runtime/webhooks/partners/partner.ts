import { hash } from "node:crypto";
import type { EndpointTlsConfig, PartnerConfig, RuntimeConfig } from "../../../crds/config.ts";
import { materialIdsOf } from "../../../crds/material.ts";
import { assignLanes, type LanePlace, type LaneRules } from "./assign-lanes.ts";
import type { TlsIdentity } from "../sending/guarded-connect.ts";
import { partnerKey } from "../ids.ts";
import { readSigners, signersAt, type Signer } from "../signing/signers.ts";
import { compileSubscriptions, type Matcher } from "../events/subscriptions.ts";

/** A partner, ready to be matched, signed for and sent to. */
export interface Partner {
  readonly config: PartnerConfig;
  /** `namespace/name`, for people. */
  readonly label: string;
  readonly key: string;
  /** Where its deliveries wait: its own lane, or one that it shares. */
  readonly lane: string;
  /** Every lane in which something of it may be. */
  readonly lanes: readonly string[];
  /** Changes when, and only when, something about the partner does, its key bytes included. */
  readonly fingerprint: string;
  /** The keys that sign or once did, the newest first; none when the configuration does not hold the first. */
  readonly signers: readonly Signer[];
  /** What TLS trusts and shows; absent: the system's roots, and nothing. */
  readonly tls?: TlsIdentity;
  /** Secret of the OAuth 2.0 client, when there is one. */
  readonly clientSecret?: string;
  readonly wants: Matcher;
  /** Whether the right to get the event was withdrawn, and no other subscription wants it. */
  readonly isRefused: Matcher;
  /** Where events of this type go. */
  urlFor(type: string): URL;
}

/** What is known of a partner that may be configured no more. */
export interface NamedPartner extends Pick<Partner, "label" | "key"> {
  readonly config: Pick<PartnerConfig, "uid" | "namespace" | "name" | "specDigest" | "deadLetterSeconds">;
}

const domainPlaceholder = "{domain}";
/** Domains come from producers; what exceeds this is parsed again. */
const urlsMax = 256;

/** Lanes of their own for so many partners, in a stream without replicas. Source: design §4 ("Home pod"). */
export const defaultLaneRules: LaneRules = { ownLanesMax: 800, sharedLanes: 32 };
const nobody: ReadonlySet<string> = new Set();

/**
 * Compiles the partners of a configuration; one that did not change stays the very object it was.
 *
 * @param promoted tokens of partners that have a lane of their own before others
 */
export function compilePartners(
  config: RuntimeConfig,
  previous: readonly Partner[],
  promoted: ReadonlySet<string> = nobody,
  rules: LaneRules = defaultLaneRules,
): readonly Partner[] {
  const known = new Map(previous.map((partner) => [partner.fingerprint, partner]));
  const tokens = config.partners.map(({ uid }) => partnerKey(uid));
  const places = assignLanes(tokens, promoted, rules);
  return config.partners.map((partner, index) => {
    const key = tokens[index] ?? "";
    const place = places.get(key) ?? { lane: key, lanes: [key] };
    const compiled = compilePartner(partner, config.material, key, place);
    return known.get(compiled.fingerprint) ?? compiled;
  });
}

function compilePartner(
  config: PartnerConfig,
  material: RuntimeConfig["material"],
  key: string,
  place: LanePlace,
): Partner {
  const { scheme, keys } = config.signing;
  const subscribes = compileSubscriptions(config.subscriptions);
  const isWithdrawn = compileSubscriptions(config.withdrawn ?? []);
  const bytes = materialIdsOf(config).map((id) => material[id] ?? null);
  return {
    config,
    fingerprint: hash("sha256", JSON.stringify([config, bytes, place]), "base64url"),
    label: `${config.namespace}/${config.name}`,
    key,
    ...place,
    signers: readSigners(scheme, keys, material),
    ...endpointSecrets(config.endpoint, material),
    wants: (event) => event.about !== key && subscribes(event),
    isRefused: (event) => event.about !== key && isWithdrawn(event) && !subscribes(event),
    urlFor: urlsOf(config.endpoint.url),
  };
}

/** Whether anything may be sent to the partner as configured, at a time in Unix milliseconds. */
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
    if (urls.size < urlsMax) {
      urls.set(domain, url);
    }
    return url;
  };
}
