import { describe, expect, test } from "vitest";
import { createAddressReader } from "../../../../runtime/http/authentication/client-certificate.ts";

const trustedProxies = { addresses: ["10.0.0.0/8", "fd00::/8"], certificateForm: "Xfcc" } as const;

describe("the address of a client", () => {
  test.each<[string, string, string | undefined, string]>([
    ["is that of the connection", "192.0.2.1", undefined, "192.0.2.1"],
    ["is that of the connection whatever a client says", "192.0.2.1", "203.0.113.9", "192.0.2.1"],
    ["is what a trusted proxy says", "10.1.2.3", "203.0.113.9", "203.0.113.9"],
    ["is what a trusted proxy says over a mapped address", "::ffff:10.1.2.3", "203.0.113.9", "203.0.113.9"],
    [
      "is what the last proxy that is not trusted was told by none",
      "10.1.2.3",
      "198.51.100.1, 203.0.113.9",
      "203.0.113.9",
    ],
    [
      "is found before the trusted proxies of a chain",
      "10.1.2.3",
      "198.51.100.1, 203.0.113.9, 10.9.9.9",
      "203.0.113.9",
    ],
    ["is the proxy's own when it says nothing", "10.1.2.3", undefined, "10.1.2.3"],
    ["is the proxy's own when what it says is no address", "10.1.2.3", "unknown", "10.1.2.3"],
    ["is an IPv6 one too", "fd00::1", "2001:db8::7", "2001:db8::7"],
  ])("%s", (_sentence, remoteAddress, forwarded, address) => {
    const read = createAddressReader({ trustedProxies });
    expect(read({ remoteAddress }, forwarded === undefined ? {} : { "x-forwarded-for": forwarded })).toBe(address);
  });

  test("is that of the connection where no proxy is trusted", () => {
    expect(createAddressReader({})({ remoteAddress: "10.1.2.3" }, { "x-forwarded-for": "203.0.113.9" })).toBe(
      "10.1.2.3",
    );
  });
});
