import * as fc from "fast-check";
import { BlockList, isIPv6 } from "node:net";
import { describe, expect, test } from "vitest";
import { type Cidr, contains, isIPv6Address, isMetadata, parseCidr } from "../../crds/networks.ts";

function cidr(text: string): Cidr {
  const parsed = parseCidr(text);
  if (parsed === undefined) throw new Error(`${text} is no block`);
  return parsed;
}

const block = fc.oneof(
  fc.tuple(fc.ipV4(), fc.integer({ min: 0, max: 32 })),
  fc.tuple(fc.ipV6().filter(isIPv6Address), fc.integer({ min: 0, max: 128 })),
);

describe("a block", () => {
  test("holds the addresses that the platform says it holds", () => {
    fc.assert(
      fc.property(block, block, ([address, prefix], [other]) => {
        const family = isIPv6(address) ? "ipv6" : "ipv4";
        const otherFamily = isIPv6(other) ? "ipv6" : "ipv4";
        const list = new BlockList();
        list.addSubnet(address, prefix, family);
        const single = cidr(`${other}/${otherFamily === "ipv6" ? 128 : 32}`);
        const isHeld = family === otherFamily && list.check(other, otherFamily);
        expect(contains(cidr(`${address}/${prefix}`), single)).toBe(isHeld);
      }),
    );
  });

  test("holds itself, and every block with its bits and a longer prefix", () => {
    fc.assert(
      fc.property(block, fc.nat(), ([address, prefix], more) => {
        const bits = isIPv6(address) ? 128 : 32;
        const inner = Math.min(bits, prefix + (more % (bits + 1)));
        expect(contains(cidr(`${address}/${prefix}`), cidr(`${address}/${inner}`))).toBe(true);
        expect(contains(cidr(`${address}/${inner}`), cidr(`${address}/${prefix}`))).toBe(inner === prefix);
      }),
    );
  });

  test.each([
    "169.254.169.254/32",
    "169.254.0.0/16",
    "fd00:ec2::254/128",
    "100.100.100.200/32",
    "fe80::1/64",
    "64:ff9b::169.254.0.0/112",
  ])("%s is instance metadata", (text) => {
    expect(isMetadata(cidr(text))).toBe(true);
  });

  test.each(["0.0.0.0/0", "169.0.0.0/8", "100.64.0.0/10", "::/0", "10.0.0.0/8", "64:ff9b::/96"])(
    "%s holds more than metadata",
    (text) => {
      expect(isMetadata(cidr(text))).toBe(false);
    },
  );
});
