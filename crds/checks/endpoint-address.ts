import { behindNat64, contains, parseCidr, specialUse } from "../networks.ts";
import type { WebhookPartnerEndpoint, WebhookPartnerSpec } from "../types/webhook-partner.ts";
import { addressOf, hostOf } from "./permissions.ts";

/** Source: RFC 6761 §6.3. */
const loopbackName = /^(?:.*\.)?localhost\.?$/u;
const loopbackAddress = "127.0.0.1";

interface Addressed extends Pick<WebhookPartnerSpec, "networks"> {
  readonly endpoint: Pick<WebhookPartnerEndpoint, "url" | "ackUrl" | "oauth2">;
}

/**
 * A sentence for each URL of a partner with an address of special use that `networks.allowCidrs` does not hold: the
 * runtime connects to none of these. The runtime resolves names and checks their addresses itself.
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
  const host = hostOf(url);
  const address = addressOf(loopbackName.test(host) ? loopbackAddress : host);
  const use = address && specialUse(address);
  if (address === undefined || use === undefined) return [];
  const needed = [address, behindNat64(address)].filter((one) => one !== undefined);
  const allowed = allowCidrs.map(parseCidr).filter((outer) => outer !== undefined);
  const isAllowed = needed.every((one) => allowed.some((outer) => contains(outer, one)));
  return isAllowed
    ? []
    : [`${field} names ${host}, which is ${use}: no delivery goes there unless networks.allowCidrs holds it`];
}
