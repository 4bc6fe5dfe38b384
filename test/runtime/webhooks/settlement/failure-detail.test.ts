import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { failureDetail } from "../../../../runtime/webhooks/settlement/outcome.ts";
import { failureReasons } from "../../../../runtime/webhooks/settlement/outcome.ts";

describe("the detail of a failure for callers", () => {
  test.each([
    [
      "guard",
      "partner.test: 10.0.0.1 is private use (10.0.0.0/8), which is not allowed",
      "the partner's networks do not allow the URL or an address of its host",
    ],
    ["guard", "plain http is not allowed", "the partner's networks do not allow the URL or an address of its host"],
    ["dns", "db.internal: ENOTFOUND", "the endpoint's host was not found"],
    ["dns", "db.internal: no answer in 50 ms", "the endpoint's host was not found"],
    ["connect", "partner.test: ECONNREFUSED", "could not connect to the endpoint: ECONNREFUSED"],
    ["connect", "connect ECONNREFUSED 10.0.0.1:443", "could not connect to the endpoint"],
    ["tls", "partner.test: CERT_HAS_EXPIRED", "the TLS handshake failed: CERT_HAS_EXPIRED"],
    ["tls", "partner.test: ERR_TLS_CERT_ALTNAME_INVALID", "the TLS handshake failed: ERR_TLS_CERT_ALTNAME_INVALID"],
    [
      "tls",
      "partner.test: ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE",
      "the TLS handshake failed: ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE",
    ],
    ["reset", "read ECONNRESET", "the connection closed before the response: ECONNRESET"],
    ["reset", "other side closed", "the connection closed before the response"],
    ["token", "no access token: status 401", "the token endpoint issued no access token: status 401"],
    [
      "token",
      "no access token: status 400 invalid_scope",
      "the token endpoint issued no access token: status 400 invalid_scope",
    ],
    [
      "token",
      "no access token: status 200, longer than 65536 bytes",
      "the token endpoint issued no access token: status 200",
    ],
    [
      "token",
      "no access token: guard: 10.0.0.1 is private use (10.0.0.0/8), which is not allowed",
      "the token endpoint issued no access token",
    ],
    ["consent", "the endpoint does not consent: status 404", "the endpoint does not consent to deliveries: status 404"],
    [
      "consent",
      "the endpoint does not consent: no WebHook-Allowed-Origin",
      "the endpoint does not consent to deliveries: no WebHook-Allowed-Origin",
    ],
    [
      "consent",
      "the endpoint does not consent: WebHook-Allowed-Rate is not a number of deliveries per minute",
      "the endpoint does not consent to deliveries: WebHook-Allowed-Rate is not a number of deliveries per minute",
    ],
    ["aborted", "delivered to workers 17 times without an outcome", "the sender abandoned the attempt"],
    ["internal", "invalid x-internal header", "the request was not sent because of a problem at the sender"],
  ] as const)("of %s (%s) is a sentence", (reason, detail, told) => {
    expect(failureDetail(reason, detail)).toBe(told);
  });

  test("never contains an address, a host or a port of the full detail", () => {
    const address = fc.oneof(
      fc.ipV4(),
      fc.ipV6().filter((text) => text.length > 4),
      fc.domain(),
    );
    const form = fc.constantFrom(
      (at: string) => `${at}: ECONNREFUSED`,
      (at: string) => `connect ETIMEDOUT ${at}:8443`,
      (at: string) => `partner.test: ${at} is private use, which is not allowed`,
      (at: string) => `no access token: dns: ${at}: no address`,
      (at: string) => `validation of the endpoint: ${at}`,
    );
    fc.assert(
      fc.property(fc.constantFrom(...failureReasons), address, form, (reason, at, write) => {
        const told = failureDetail(reason, write(at));
        expect(told).not.toContain(at);
        expect(told).not.toMatch(/8443|partner\.test/u);
      }),
    );
  });
});
