import { describe, expect, test } from "vitest";
import { maskLogLines, maskMetrics, maskText, maskValue } from "../../../runtime/debug/mask-text.ts";

describe("a text", () => {
  test.each([
    ["a JSON web token", "token eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJhIn0.c2lnbmF0dXJl refused", "eyJ"],
    ["a bearer token", "sent Authorization: Bearer abcDEF123", "abcDEF123"],
    ["credentials in a URL", "nats://runtime:hunter2@nats:4222 is away", "hunter2"],
    ["credentials with the characters of a path", "nats://runtime:h@nt/er2@nats:4222 is away", "er2"],
    ["a user name without a password", "https://s3cretuser@partner.example.com failed", "s3cretuser"],
    ["the path of an endpoint", "POST https://hooks.example.com/services/T0/B0/x1y2 failed", "x1y2"],
    ["the path of an endpoint with a short secret", "(https://hooks.example.com:8443/hunter)", "hunter"],
    ["a password in JSON inside a text", String.raw`body: {\"password\": \"hunter2\"}`, "hunter2"],
    ["a password in JSON inside JSON", String.raw`{\\\"client_secret\\\":\\\"hunter2\\\"}`, "hunter2"],
    ["a query string", "GET https://partner.example.com/hook?sig=abc failed", "sig=abc"],
    ["a password", 'password="hunter2"', "hunter2"],
    ["a signing key of 64 hexadecimal digits", `key ${"0af3".repeat(16)}`, "0af30af3"],
    ["a signing key in base64", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "MfKQ9r8"],
    ["a PEM block", "-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----", "MIIE"],
    ["a PEM block that is cut", "-----BEGIN PRIVATE KEY-----\nMIIE", "MIIE"],
    ["a card number", "payment with 4111 1111 1111 1111 failed", "4111"],
    ["a mail address", "no partner for ann@example.com", "ann@"],
    ["an address of a machine", "connect ECONNREFUSED 203.0.113.7:443", "203.0.113.7"],
    ["a compressed address of version 6", "connect to [2001:db8::7]:443 failed", "db8"],
    ["a compressed address without an end", "route 2001:db8:: is away", "db8"],
    ["a compressed address without a start", "from ::7:abcd", "abcd"],
    ["an address of version 4 in one of version 6", "from ::ffff:10.1.2.3", "10.1"],
    ["an address of version 4 behind NAT64", "from 64:ff9b::203.0.113.7", "64:ff9b"],
    ["a local address with its zone", "from fe80::1%eth0", "fe80"],
    ["an address of version 6", "connect to 2001:db8:0:0:0:0:0:7 failed", "2001:db8"],
  ])("keeps nothing of %s", (_, text, secret) => {
    expect(maskText(text)).not.toContain(secret);
  });

  test.each([
    ["a sentence", "the last good version stays in force"],
    ["a UUID", "0b3ac5f2-7f5e-4d0a-8d6e-7c1a2b3c4d5e"],
    ["a metric", "heliograph_webhook_partner_delivery_duration_seconds_bucket"],
    ["a route", "/v1/metrics/bulk-query"],
    ["a time", "2026-11-22T17:26:13.123Z"],
    ["a place of this machine", "http://127.0.0.1:9090/readyz"],
    ["a place of this machine by its name", "http://localhost:9090/readyz"],
    ["a place of this machine by version 6", "http://[::1]:9090/readyz and on [::]:9090"],
    ["a host", "https://hooks.example.com:8443 refused"],
    ["the time of a day", "at 17:26:13 and 17:26"],
  ])("keeps %s", (_, text) => {
    expect(maskText(text)).toBe(text);
  });

  test("of a megabyte without a space is masked in time", () => {
    const startMs = performance.now();
    maskText("a".repeat(1024 * 1024));
    expect(performance.now() - startMs).toBeLessThan(10_000);
  });
});

test("hashes of configurations stay in their fields only", () => {
  const hash = "0af3".repeat(16);
  expect(maskValue({ configHash: hash, note: hash, client: "ann" })).toEqual({
    configHash: hash,
    note: "[long]",
    client: "[left out]",
  });
});

test("a log line keeps the fields that the product writes", () => {
  const line = { level: 30, time: "2026-01-01T00:00:00.000Z", msg: "attempt", eventId: "e-1", client: "ann", x: "y" };
  expect(maskLogLines(`pod-1 ${JSON.stringify(line)}\nplain text hunter2\n`)).toBe(
    '{"level":30,"time":"2026-01-01T00:00:00.000Z","msg":"attempt","eventId":"e-1","hidden":2}\n' +
      '{"hidden":"a line that is not JSON"}\n',
  );
});

test("labels of metrics are masked, and exemplars are left out", () => {
  const text = 'a_total{partner="shop/one",route="ann@example.com"} 4111111111111111 # {trace_id="1"} 1\n# EOF\n';
  expect(maskMetrics(text)).toBe('a_total{partner="shop/one",route="[mail]"} 4111111111111111\n# EOF\n');
});
