import { BlockList } from "node:net";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { contains, parseAddress, parseBlock } from "../../crds/networks.ts";

describe("an address", () => {
  test.each([
    ["1.2.3.4", [1, 2, 3, 4]],
    ["::", [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]],
    ["::1", [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]],
    ["1::", [0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]],
    ["2001:db8::a:0:ff", [0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0x0a, 0, 0, 0, 0xff]],
    ["1:2:3:4:5:6:7:8", [0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0, 7, 0, 8]],
    ["::ffff:1.2.3.4", [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 1, 2, 3, 4]],
    ["64:ff9b::9.8.7.6", [0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0, 9, 8, 7, 6]],
  ])("is read from %s", (text, bytes) => {
    const bits = 8 * bytes.length;
    expect(parseAddress(text)).toEqual({
      bits,
      first: BigInt(`0x${Buffer.from(bytes).toString("hex")}`),
      prefix: bits,
    });
  });

  test.each([
    "",
    "example.com",
    "1.2.3",
    "1.2.3.4.5",
    "01.2.3.4",
    "0x7f.0.0.1",
    "1.2.3.256",
    "fe80::1%eth0",
    "[::1]",
    ":::",
    "1::2::3",
  ])("is not read from %s", (text) => {
    expect(parseAddress(text)).toBeUndefined();
  });
});

describe("a block", () => {
  test.each(["", "10.0.0.0", "10.0.0.0/", "10.0.0.0/33", "::/129", "10.0.0.0/-1", "10.0.0.0/8/8", "x/8"])(
    "is not read from %s",
    (text) => {
      expect(parseBlock(text)).toBeUndefined();
    },
  );

  test.each([
    [fc.ipV4(), 32, "ipv4"],
    [fc.ipV6(), 128, "ipv6"],
  ] as const)("holds what Node's own list holds, for addresses %#", (anyAddress, bitsMax, family) => {
    fc.assert(
      fc.property(anyAddress, anyAddress, fc.nat(bitsMax), fc.boolean(), (first, second, bits, isSame) => {
        const list = new BlockList();
        list.addSubnet(first, bits, family);
        const address = isSame ? first : second;
        const block = parseBlock(`${first}/${bits}`);
        const parsed = parseAddress(address);
        expect(block !== undefined && parsed !== undefined && contains(block, parsed)).toBe(
          list.check(address, family),
        );
      }),
    );
  });

  test("of one family contains no address of the other", () => {
    const everything = parseBlock("0.0.0.0/0");
    const mapped = parseAddress("::ffff:1.2.3.4");
    expect(everything !== undefined && mapped !== undefined && contains(everything, mapped)).toBe(false);
  });
});
