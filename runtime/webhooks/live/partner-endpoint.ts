import type { PartnerEndpoint } from "../../../api/partners.ts";

const form = /^(?<scheme>https?):\/\/(?<authority>[^/?#]*)(?<path>[^?#]*)(?:\?(?<query>[^#]*))?/iu;
const hiddenValue = "***";

/**
 * Where events are sent, by the URL of the configuration, whose path may contain `{domain}`. Values of a query may be
 * secrets, and nobody sees them. @param showsPath for administrators
 */
export function partnerEndpoint(url: string, showsPath: boolean): PartnerEndpoint {
  const { scheme, authority = "", path = "", query } = form.exec(url)?.groups ?? {};
  return {
    scheme: scheme?.toLowerCase() === "http" ? "http" : "https",
    host: authority.slice(authority.lastIndexOf("@") + 1),
    path: showsPath ? `${path}${query === undefined ? "" : `?${maskedQuery(query)}`}` : null,
  };
}

/** A parameter without a value may be a secret itself. */
function maskedQuery(query: string): string {
  return query
    .split("&")
    .map((pair) => (pair.includes("=") ? `${pair.slice(0, pair.indexOf("="))}=${hiddenValue}` : hiddenValue))
    .join("&");
}
