import { describe, expect, test } from "vitest";
import { addressWarnings } from "../../../crds/checks/endpoint-references.ts";
import { compiled, first, resourceOf } from "../compile/resources.ts";

const allowed = (...allowCidrs: readonly string[]) => ({ allowCidrs, allowPlaintext: true });

function warnings(url: string, networks = allowed()): readonly string[] {
  const { config, results } = compiled([resourceOf("WebhookPartner", { "endpoint.url": url, networks })]);
  expect(config.partners).toHaveLength(1);
  return first(results).warnings;
}

describe("a partner's URL with an address of special use", () => {
  test.each([
    ["http://127.0.0.1/v1", "endpoint.url uses 127.0.0.1, which is loopback (127.0.0.0/8)"],
    ["http://localhost:8080/v1", "endpoint.url uses localhost, which is loopback (127.0.0.0/8)"],
    ["https://10.1.2.3/v1", "endpoint.url uses 10.1.2.3, which is private use (10.0.0.0/8)"],
    ["https://172.31.0.1/v1", "endpoint.url uses 172.31.0.1, which is private use (172.16.0.0/12)"],
    ["https://192.168.7.7/v1", "endpoint.url uses 192.168.7.7, which is private use (192.168.0.0/16)"],
    ["https://100.64.0.1/v1", "endpoint.url uses 100.64.0.1, which is shared address space (100.64.0.0/10)"],
    ["https://[::1]/v1", "endpoint.url uses [::1], which is loopback (::1/128)"],
    ["https://[fd12::1]/v1", "endpoint.url uses [fd12::1], which is unique local (fc00::/7)"],
    ["https://[64:ff9b::a00:1]/v1", "endpoint.url uses [64:ff9b::a00:1], which is private use (10.0.0.0/8)"],
    ["https://[64:ff9b:1::808:808]/v1", "[64:ff9b:1::808:808], which is local-use NAT64 (64:ff9b:1::/48)"],
  ])("is accepted with a warning: %s", (url, text) => {
    expect(warnings(url)).toEqual([expect.stringContaining(text)]);
  });

  test.each([
    ["https://10.1.2.3/v1", "10.1.0.0/16"],
    ["http://127.0.0.1/v1", "127.0.0.1/32"],
    ["http://localhost/v1", "127.0.0.0/8"],
    ["https://[fd12::1]/v1", "fd12::/16"],
  ])("is meant when networks.allowCidrs holds it: %s in %s", (url, cidr) => {
    expect(warnings(url, allowed(cidr))).toEqual([]);
  });

  test("stays Questionable when networks.allowCidrs holds another block", () => {
    expect(warnings("https://10.1.2.3/v1", allowed("10.2.0.0/16", "fd12::/16"))).toHaveLength(1);
  });

  test("behind NAT64 is meant when networks.allowCidrs holds the prefix and the IPv4 address", () => {
    const url = "https://[64:ff9b::a00:1]/v1";
    expect(warnings(url, allowed("64:ff9b::/96"))).toHaveLength(1);
    expect(warnings(url, allowed("10.0.0.0/8"))).toHaveLength(1);
    expect(warnings(url, allowed("64:ff9b::/96", "10.0.0.0/8"))).toEqual([]);
  });

  test.each([
    "https://8.8.8.8/v1",
    "https://[64:ff9b::808:808]/v1",
    "https://[2606:4700::1]/v1",
    "https://partner.example/v1",
    "https://localhost.example/v1",
  ])("is none: %s", (url) => {
    expect(warnings(url)).toEqual([]);
  });

  test("is looked for in every URL of the endpoint", () => {
    const endpoint = {
      url: "https://partner.example/v1",
      ackUrl: "https://10.0.0.1/ack",
      oauth2: {
        tokenUrl: "https://10.0.0.2/token",
        clientId: "c",
        clientSecretRef: { name: "s", key: "k" },
        scopes: [],
        dpop: false,
      },
    };
    expect(addressWarnings({ endpoint, networks: allowed() })).toEqual([
      expect.stringContaining("endpoint.ackUrl uses 10.0.0.1"),
      expect.stringContaining("endpoint.oauth2.tokenUrl uses 10.0.0.2"),
    ]);
  });
});

describe("a URL that the pattern of its field allows but that is invalid", () => {
  test.each([
    "https://a b/token",
    "https://h:99999/token",
    "https://[::1:bad/token",
    "https://%zz/token",
    "https://:80/",
  ])("is accepted with a warning: %s", (text) => {
    const oauth2 = { tokenUrl: text, clientId: "c", clientSecretRef: { name: "s", key: "k" }, scopes: [], dpop: false };
    const endpoint = { url: "https://partner.example/v1", ackUrl: text, oauth2 };
    expect(addressWarnings({ endpoint, networks: allowed() })).toEqual([
      "endpoint.ackUrl is not a valid URL: nothing can be sent to it",
      "endpoint.oauth2.tokenUrl is not a valid URL: nothing can be sent to it",
    ]);
  });
});
