import { behindNat64, contains, parseCidr, specialUse } from "../networks.ts";
import type { WebhookPartner } from "../resource.ts";
import type { WebhookPartnerEndpoint, WebhookPartnerSpec } from "../types/webhook-partner.ts";
import { addressOf, hostOf } from "./permissions.ts";
import {
  entryReference,
  type EntryReference,
  type Material,
  type ReferenceProblem,
  type Secrets,
} from "./secret-entry.ts";
import { mismatch, resolveUses, type Use } from "./store-references.ts";

/** Uses of an entry of a Secret by an endpoint. */
export type EndpointUse = Extract<Use, "trusted certificates" | "certificate" | "private key" | "password">;

/** An entry that an endpoint needs, whose bytes were found and can be used. */
export type EndpointEntry = Material & { readonly use: EndpointUse };

type EndpointReference = EntryReference & { readonly use: EndpointUse };

/** Source: RFC 6761 §6.3. */
const loopbackName = /^(?:.*\.)?localhost\.?$/u;
const loopbackAddress = "127.0.0.1";

interface Addressed extends Pick<WebhookPartnerSpec, "networks"> {
  readonly endpoint: Pick<WebhookPartnerEndpoint, "url" | "ackUrl" | "oauth2">;
}

/** All entries of Secrets that the endpoint of a partner needs besides its keys. */
export function endpointReferences({
  metadata: { namespace },
  spec: { endpoint },
}: WebhookPartner): readonly EndpointReference[] {
  const { caBundleRef, clientCertificateRef, oauth2 } = endpoint;
  const reference = (use: EndpointUse, field: string, name: string, entry: string, entryField?: string) => ({
    use,
    ...entryReference(`${namespace}/${name}`, entry, `spec.endpoint.${field}`, entryField),
  });
  const shown = clientCertificateRef?.name;
  const secret = oauth2?.clientSecretRef;
  return [
    ...(caBundleRef === undefined
      ? []
      : [reference("trusted certificates", "caBundleRef", caBundleRef.name, caBundleRef.key)]),
    ...(shown === undefined ? [] : [reference("certificate", "clientCertificateRef", shown, "tls.crt", "name")]),
    ...(shown === undefined ? [] : [reference("private key", "clientCertificateRef", shown, "tls.key", "name")]),
    ...(secret === undefined ? [] : [reference("password", "oauth2.clientSecretRef", secret.name, secret.key)]),
  ];
}

/** Looks up what the endpoint of a partner needs. */
export function resolveEndpoint(
  partner: WebhookPartner,
  secrets: Secrets,
): { readonly endpoint: readonly EndpointEntry[]; readonly problems: readonly ReferenceProblem[] } {
  const { found, problems } = resolveUses(endpointReferences(partner), secrets);
  const endpoint = found.map(({ reference: { use }, material }) => ({ use, ...material }));
  const clientCertificate = "spec.endpoint.clientCertificateRef.name";
  return { endpoint, problems: problems.length > 0 ? problems : mismatch(endpoint, clientCertificate) };
}

/**
 * A sentence for each URL of a partner that is invalid although the schema permits it, or has an address of special use
 * that `networks.allowCidrs` does not hold: the runtime connects to none of these. It resolves names and checks their
 * addresses itself.
 */
export function addressWarnings({ endpoint, networks }: Addressed): readonly string[] {
  const urls: readonly (readonly [string, string | undefined])[] = [
    ["endpoint.url", endpoint.url],
    ["endpoint.ackUrl", endpoint.ackUrl],
    ["endpoint.oauth2.tokenUrl", endpoint.oauth2?.tokenUrl],
  ];
  return urls.flatMap(([field, url]) => (url === undefined ? [] : warningOf(field, url, networks.allowCidrs)));
}

function warningOf(field: string, url: string, allowCidrs: readonly string[]): readonly string[] {
  if (!URL.canParse(url)) return [`${field} is not a valid URL: nothing can be sent to it`];
  const host = hostOf(url);
  const address = addressOf(loopbackName.test(host) ? loopbackAddress : host);
  const use = address && specialUse(address);
  if (address === undefined || use === undefined) return [];
  const needed = [address, behindNat64(address)].filter((one) => one !== undefined);
  const allowed = allowCidrs.map(parseCidr).filter((outer) => outer !== undefined);
  const isAllowed = needed.every((one) => allowed.some((outer) => contains(outer, one)));
  return isAllowed
    ? []
    : [`${field} uses ${host}, which is ${use}: deliveries are blocked unless networks.allowCidrs contains it`];
}
