import { isIPv6Address } from "../networks.ts";
import { rule, type Rule, unless } from "./cel-rule.ts";

const absolute = /^https?:\/\/[^/?#]/u;
const octet = "(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])";
const name = "([A-Za-z0-9_-]+[.])*[A-Za-z]([A-Za-z0-9-]*[A-Za-z0-9])?[.]?";
const host = String.raw`(${name}|(${octet}[.]){3}${octet}|\[[0-9A-Fa-f:.]+\])`;
const port = "([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])";
const authority = new RegExp(`^https?://([^/?#]*@)?${host}(:${port})?([/?#]|$)`, "u");
const hostOnly = new RegExp(`^https?://([^/?#]*@)?${host}([:/?#]|$)`, "u");
const portOnly = new RegExp(String.raw`^https?://([^/?#]*@)?(\[[^/?#]*\]|[^:/?#]*)(:${port})?([/?#]|$)`, "u");
const bracketed = /^https?:\/\/\[(?<address>[^\]]*)\]/u;
const userInfo = /^https?:\/\/[^/?#]*@/u;

const urlCharacters = /^[A-Za-z0-9\-._~:/?#[\]@!$&'()*+,;=%]*$/u;

/** Characters of a URL without placeholders. */
export const urlCharactersRule = rule<string>(
  "the URL must contain only valid URL characters; percent-encode all others",
  (url) => urlCharacters.test(url),
);

const bracketsRule: Rule<string> = {
  message: "the brackets must contain an IPv6 address",
  faults: (url) => {
    const address = bracketed.exec(url)?.groups?.["address"];
    return unless(address === undefined || isIPv6Address(address));
  },
};

const userInfoRule = rule<string>("the URL must not contain a user or password", (url) => !userInfo.test(url));

/** Rules for every URL of a resource. */
export function urlRules(): readonly Rule<string>[] {
  return [
    rule("the URL must be an absolute http or https URL", (url) => absolute.test(url)),
    rule(
      "the host must be a DNS name, an IPv4 address or an IPv6 address in brackets, and the port at most 65535",
      (url) => !absolute.test(url) || authority.test(url),
    ),
    bracketsRule,
    userInfoRule,
    rule("the URL must not have a fragment", (url) => !url.includes("#")),
  ];
}

/**
 * Rules for the URL of a page, which can have a fragment. Its schema requires http or https. Host and port have a rule
 * each, because the API server bounds the cost of a rule that every metric has.
 */
export function pageUrlRules(): readonly Rule<string>[] {
  return [
    rule("the host must be a DNS name, an IPv4 address or an IPv6 address in brackets", (url) => hostOnly.test(url)),
    rule("the port must be a number from 1 to 65535", (url) => portOnly.test(url)),
    bracketsRule,
    userInfoRule,
    urlCharactersRule,
  ];
}
