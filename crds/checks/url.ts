import { isIPv6Address } from "../networks.ts";
import { type Rule, unless } from "./cel-rule.ts";

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
    { message: "the URL is absolute, http or https", faults: (url) => unless(absolute.test(url)) },
    {
      message: "the URL names a DNS name, an IPv4 address or an IPv6 address in brackets, and a port up to 65535",
      faults: (url) => unless(!absolute.test(url) || authority.test(url)),
    },
    {
      message: "the brackets hold an IPv6 address",
      faults: (url) => {
        const address = bracketed.exec(url)?.groups?.["address"];
        return unless(address === undefined || isIPv6Address(address));
      },
    },
    { message: "the URL holds no user and no password", faults: (url) => unless(!userInfo.test(url)) },
    { message: "the URL has no fragment", faults: (url) => unless(!url.includes("#")) },
  ];
}
