import { isIPv6Address } from "../networks.ts";
import { rule, type Rule, unless } from "./cel-rule.ts";

const absolute = /^https?:\/\/[^/?#]/u;
const octet = "(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])";
const name = "([A-Za-z0-9_-]+[.])*[A-Za-z]([A-Za-z0-9-]*[A-Za-z0-9])?[.]?";
const host = String.raw`(${name}|(${octet}[.]){3}${octet}|\[[0-9A-Fa-f:.]+\])`;
const port = "([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])";
const authority = new RegExp(`^https?://([^/?#]*@)?${host}(:${port})?([/?#]|$)`, "u");
const bracketed = /^https?:\/\/\[(?<address>[^\]]*)\]/u;
const userInfo = /^https?:\/\/[^/?#]*@/u;

/** Rules for every URL of a resource. */
export function urlRules(): readonly Rule<string>[] {
  return [
    rule("the URL must be an absolute http or https URL", (url) => absolute.test(url)),
    rule(
      "the host must be a DNS name, an IPv4 address or an IPv6 address in brackets, and the port at most 65535",
      (url) => !absolute.test(url) || authority.test(url),
    ),
    {
      message: "the brackets must contain an IPv6 address",
      faults: (url) => {
        const address = bracketed.exec(url)?.groups?.["address"];
        return unless(address === undefined || isIPv6Address(address));
      },
    },
    rule("the URL must not contain a user or password", (url) => !userInfo.test(url)),
    rule("the URL must not have a fragment", (url) => !url.includes("#")),
  ];
}
