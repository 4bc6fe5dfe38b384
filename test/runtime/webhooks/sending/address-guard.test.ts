import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isMetadata, metadataBlocks, parseCidr, specialBlocks } from "../../../../crds/networks.ts";
import { addressFault, createAddressGuard, urlFault } from "../../../../runtime/webhooks/sending/address-guard.ts";

const strict = createAddressGuard({ allowCidrs: [], allowPlaintext: false });
const everything = createAddressGuard({ allowCidrs: ["0.0.0.0/0", "::/0"], allowPlaintext: true });

/** A guard that allows these blocks. */
function opening(...allowCidrs: readonly string[]): ReturnType<typeof createAddressGuard> {
  return createAddressGuard({ allowCidrs, allowPlaintext: false });
}

describe("an address that is allowed without an allow-list", () => {
  test.each([
    "1.1.1.1",
    "8.8.8.8",
    "100.63.255.255",
    "100.128.0.0",
    "172.15.0.1",
    "172.32.0.1",
    "192.0.1.1",
    "223.255.255.255",
  ])("is the public IPv4 address %s", (address) => {
    expect(addressFault(strict, address)).toBeUndefined();
  });

  test.each([
    "2606:4700:4700::1111",
    "2001:200::1",
    "2a00:1450:4001:80b::200e",
    "2003::1",
    "3ffe::1",
    "::ffff:8.8.8.8",
    "64:ff9b::8.8.8.8",
    "64:ff9b::808:808",
  ])("is the public IPv6 address %s", (address) => {
    expect(addressFault(strict, address)).toBeUndefined();
  });
});

/**
 * First, last and one inside of every block of the IANA registries (as of October 2025), and of what they leave out.
 */
describe("an address in a special block is refused:", () => {
  test.each([
    ["this network", ["0.0.0.0", "0.1.2.3", "0.255.255.255"]],
    ["private use", ["10.0.0.0", "10.255.255.255", "172.16.0.0", "172.31.255.255", "192.168.0.0", "192.168.255.255"]],
    ["shared address space", ["100.64.0.0", "100.127.255.255"]],
    ["loopback", ["127.0.0.0", "127.0.0.1", "127.255.255.255", "::1"]],
    ["IPv4 service continuity", ["192.0.0.0", "192.0.0.7"]],
    ["IPv4 dummy address", ["192.0.0.8"]],
    ["port control protocol anycast", ["192.0.0.9", "2001:1::1"]],
    ["traversal using relays around NAT anycast", ["192.0.0.10", "2001:1::2"]],
    ["NAT64 and DNS64 discovery", ["192.0.0.170", "192.0.0.171"]],
    ["IETF protocol assignments", ["192.0.0.11", "192.0.0.255", "2001:1ff:ffff::"]],
    ["documentation", ["192.0.2.1", "198.51.100.1", "203.0.113.255", "2001:db8::1", "3fff::", "3fff:fff::1"]],
    ["AS112", ["192.31.196.1", "2001:4:112::1"]],
    ["automatic multicast tunneling", ["192.52.193.1", "2001:3::1"]],
    ["6to4 relay anycast", ["192.88.99.1"]],
    ["AS112 direct delegation", ["192.175.48.1", "2620:4f:8000::1"]],
    ["benchmarking", ["198.18.0.0", "198.19.255.255", "2001:2::1"]],
    ["multicast", ["224.0.0.1", "239.255.255.255", "ff02::1"]],
    ["reserved", ["240.0.0.1", "255.255.255.254", "4000::1", "8000::1", "c000::1", "fe00::1", "200::1", "1000::1"]],
    ["limited broadcast", ["255.255.255.255"]],
    ["unspecified address", ["::"]],
    ["IPv4-compatible", ["::2", "::8.8.8.8", "::127.0.0.1"]],
    ["local-use NAT64", ["64:ff9b:1::1", "64:ff9b:1::8.8.8.8", "64:ff9b:1:ffff:ffff:ffff:ffff:ffff"]],
    ["discard only", ["100::1"]],
    ["dummy prefix", ["100:0:0:1::1"]],
    ["Teredo", ["2001::1", "2001:0:ffff:ffff:ffff:ffff:ffff:ffff"]],
    ["DNS-SD service registration anycast", ["2001:1::3"]],
    ["deprecated ORCHID", ["2001:10::1"]],
    ["ORCHID version 2", ["2001:20::1", "2001:2f:ffff::"]],
    ["drone remote identification", ["2001:30::1"]],
    ["6to4", ["2002::1", "2002:808:808::1"]],
    ["segment routing identifiers", ["5f00::1"]],
    ["unique local", ["fc00::1", "fdff::1"]],
    ["site local", ["fec0::1"]],
    ["loopback", ["::ffff:127.0.0.1", "::ffff:7f00:1"]],
    ["private use", ["::ffff:10.0.0.1", "64:ff9b::10.0.0.1", "64:ff9b::ac10:1"]],
    ["loopback", ["64:ff9b::127.0.0.1"]],
    ["this network", ["64:ff9b::"]],
  ])("%s", (name, addresses) => {
    const faults = addresses.map((address) => addressFault(strict, address));
    expect(faults).toEqual(addresses.map((address) => expect.stringContaining(`${address} is ${name} (`) as string));
  });

  test("every row of both tables is a block", () => {
    expect([specialBlocks.length, metadataBlocks.length]).toEqual([55, 8]);
  });

  test("every block that no allow-list opens is also rejected in resources", () => {
    const named = metadataBlocks.map(({ text }) => parseCidr(text)).filter((block) => block !== undefined);
    expect(named.map(isMetadata)).toEqual(metadataBlocks.map(() => true));
  });

  test.each(["example.com", "", "fe80::1%eth0", "1.2.3"])("%s, which is not an address", (text) => {
    expect(addressFault(everything, text)).toBe(`${text} is not an IP address`);
  });
});

describe("an allow-list", () => {
  test.each([
    ["a private block", "10.0.0.0/8", "10.1.2.3"],
    ["one address", "127.0.0.1/32", "127.0.0.1"],
    ["IPv6 loopback", "::1/128", "::1"],
    ["unique local addresses", "fd12::/16", "fd12::1"],
    ["an IPv4 block, for its mapped spelling too", "10.0.0.0/8", "::ffff:10.1.2.3"],
    ["local-use NAT64", "64:ff9b:1::/48", "64:ff9b:1::8.8.8.8"],
    ["6to4, for a public address in it", "2002::/16", "2002:808:808::1"],
  ])("opens %s", (_, block, address) => {
    expect(addressFault(strict, address)).toBeDefined();
    expect(addressFault(opening(block), address)).toBeUndefined();
  });

  test.each([
    ["its neighbour", "10.0.0.0/24", "10.0.1.0"],
    ["what an allowed NAT64 prefix leads to", "64:ff9b::/96", "64:ff9b::10.0.0.1"],
    ["a private block behind NAT64", "10.0.0.0/8", "64:ff9b::10.0.0.1"],
    ["what an allowed 6to4 address leads to", "2002::/16", "2002:a00:1::1"],
    ["what an allowed Teredo address leads to", "2001::/32", "2001:0:808:808:0:0:f5ff:fffe"],
    ["the IPv4 address of a mapped one by its IPv6 block", "::ffff:0:0/96", "::ffff:10.0.0.1"],
  ])("does not open %s", (_, block, address) => {
    expect(addressFault(opening(block), address)).toMatch(/not allowed$/u);
  });

  test("of a private block and of NAT64 opens the block behind NAT64", () => {
    expect(addressFault(opening("10.0.0.0/8", "64:ff9b::/96"), "64:ff9b::10.0.0.1")).toBeUndefined();
  });

  test("that is empty treats a public address behind NAT64 as the IPv4 address in it", () => {
    fc.assert(
      fc.property(fc.ipV4(), (address) => {
        const isAllowed = addressFault(strict, address) === undefined;
        expect(addressFault(strict, `64:ff9b::${address}`) === undefined).toBe(isAllowed);
      }),
    );
  });

  test("that does not parse allows nothing", () => {
    expect(addressFault(opening("10.0.0.0", "all"), "10.0.0.1")).toBeDefined();
  });

  test.each([
    "169.254.169.254",
    "169.254.170.2",
    "169.254.0.1",
    "100.100.100.200",
    "168.63.129.16",
    "192.0.0.192",
    "fd00:ec2::254",
    "fd20:ce::254",
    "fd00:42::42",
    "fe80::a9fe:a9fe",
    "::ffff:169.254.169.254",
    "::169.254.169.254",
    "64:ff9b::169.254.169.254",
    "64:ff9b:1::169.254.169.254",
    "64:ff9b:1:a9fe:a9:fe00::",
    "64:ff9b:1:a9:fe:a9fe::",
    "64:ff9b:1:0:a9:fea9:fe00:0",
    "2002:a9fe:a9fe::1",
    "2001:0:a9fe:a9fe::1",
    "2001:0:808:808:0:0:5601:5601",
  ])("never opens the metadata address %s", (address) => {
    expect(addressFault(everything, address)).toMatch(/which is never allowed$/u);
  });

  test("of all addresses allows every other address", () => {
    fc.assert(
      fc.property(fc.ipV4(), (address) => {
        const isNeverOpened = /^169\.254\.|^100\.100\.100\.200$|^168\.63\.129\.16$|^192\.0\.0\.192$/u.test(address);
        expect(addressFault(everything, address) === undefined).toBe(!isNeverOpened);
      }),
    );
  });

  test("that is empty treats a mapped address as the IPv4 address in it", () => {
    fc.assert(
      fc.property(fc.ipV4(), (address) => {
        const isAllowed = addressFault(strict, address) === undefined;
        expect(addressFault(strict, `::ffff:${address}`) === undefined).toBe(isAllowed);
      }),
    );
  });
});

describe("a URL", () => {
  test.each([
    ["a public name", "https://partner.example/hooks"],
    ["a name with a trailing dot, to be judged by its addresses", "https://partner.example./hooks"],
    ["a public address", "https://8.8.8.8/hooks"],
    ["another port", "https://partner.example:8443/hooks"],
  ])("with %s is allowed", (_, url) => {
    expect(urlFault(strict, new URL(url))).toBeUndefined();
  });

  test.each([
    ["plain http", "http://partner.example/", "plain http is not allowed"],
    ["another protocol", "ftp://partner.example/", "ftp: is not HTTP"],
    ["a name and password", "https://user:pass@partner.example/", "credentials in the URL are not allowed"],
    ["a name only", "https://user@partner.example/", "credentials in the URL are not allowed"],
    ["a private address", "https://10.0.0.1/", "10.0.0.1 is private use (10.0.0.0/8), which is not allowed"],
    ["a decimal address", "https://2130706433/", "127.0.0.1 is loopback (127.0.0.0/8), which is not allowed"],
    ["an octal address", "https://017700000001/", "127.0.0.1 is loopback (127.0.0.0/8), which is not allowed"],
    ["a hexadecimal address", "https://0x7f000001/", "127.0.0.1 is loopback (127.0.0.0/8), which is not allowed"],
    ["a short address", "https://127.1/", "127.0.0.1 is loopback (127.0.0.0/8), which is not allowed"],
    ["mixed spellings", "https://0x7f.0.01/", "127.0.0.1 is loopback (127.0.0.0/8), which is not allowed"],
    [
      "an address with a trailing dot",
      "https://127.0.0.1./",
      "127.0.0.1 is loopback (127.0.0.0/8), which is not allowed",
    ],
    ["full-width digits", "https://１２７.0.0.1/", "127.0.0.1 is loopback (127.0.0.0/8), which is not allowed"],
    ["an IPv6 literal", "https://[::1]/", "::1 is loopback (::1/128), which is not allowed"],
    [
      "a mapped literal",
      "https://[::ffff:127.0.0.1]/",
      "::ffff:7f00:1 is loopback (127.0.0.0/8), which is not allowed",
    ],
  ])("with %s is refused", (_, url, fault) => {
    expect(urlFault(strict, new URL(url))).toBe(fault);
  });

  test("may be plain http where the partner allows it", () => {
    const plain = createAddressGuard({ allowCidrs: [], allowPlaintext: true });
    expect(urlFault(plain, new URL("http://partner.example/"))).toBeUndefined();
    expect(urlFault(plain, new URL("http://127.0.0.1/"))).toBeDefined();
  });
});
