import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { webhookPartnerRules } from "../../../crds/checks/webhook-partner.ts";
import { brokenRules } from "../../../crds/checks/cel-rule.ts";
import { plainObject } from "../valid-objects.ts";

function isAccepted(url: string, scheme: string): boolean {
  const object = plainObject("WebhookPartner", {
    "signing.scheme": scheme,
    "endpoint.url": url,
    "endpoint.headers": [],
    "networks.allowPlaintext": true,
    "networks.allowCidrs": [],
  });
  return brokenRules(webhookPartnerRules, object).length === 0;
}

const host = fc.oneof(
  fc.domain(),
  fc.ipV4(),
  fc.ipV4Extended(),
  fc.ipV6().map((address) => `[${address}]`),
);
const piece = fc.oneof(
  fc.constantFrom("{domain}", "/", "%2F", "?", "#", "@", ":", "[", "]", "\\", "\t", " ", ".."),
  fc.string(),
);
const url = fc
  .tuple(fc.constantFrom("http://", "https://", "https:/", "//"), host, fc.array(piece, { maxLength: 5 }))
  .map(([scheme, name, pieces]) => scheme + name + pieces.join(""));

describe("an endpoint's URL that the rules accept", () => {
  test("is one for the platform too: with its host as written, no fragment, no credentials, no query under HmacV1", () => {
    fc.assert(
      fc.property(url, fc.constantFrom("HmacV1", "StandardWebhooks"), (text, scheme) => {
        fc.pre(isAccepted(text, scheme));
        const parsed = new URL(text.replaceAll("{domain}", "payout"));
        const written = /^https?:\/\/(\[[^\]]*\]|[^/:?]*)/u.exec(text)?.[1] ?? "";
        const isIPv6 = written.startsWith("[");
        expect(isIPv6 ? parsed.hostname.startsWith("[") : parsed.hostname === written.toLowerCase()).toBe(true);
        const { search, hash, username, password } = parsed;
        expect({ hash, username, password }).toEqual({ hash: "", username: "", password: "" });
        expect(scheme === "HmacV1" && search !== "").toBe(false);
      }),
      { numRuns: 500 },
    );
  });
});
