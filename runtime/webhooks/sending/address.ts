import { isIPv4, isIPv6 } from "node:net";

/** An IP address: 4 bytes for IPv4, 16 for IPv6, in network order. */
export type Address = Uint8Array;

/** A CIDR block. */
export interface AddressBlock {
  readonly prefix: Address;
  readonly bits: number;
}

const blockForm = /^(?<address>[^/]+)\/(?<bits>\d{1,3})$/u;

/** Parses an address; undefined for other text, and for an address with a zone (`%eth0`). */
export function parseAddress(text: string): Address | undefined {
  if (isIPv4(text)) {
    return Uint8Array.from(text.split("."), Number);
  }
  return isIPv6(text) && !text.includes("%") ? parseIPv6(text) : undefined;
}

function parseIPv6(text: string): Address {
  const [head = "", tail] = text.split("::");
  const left = groups(head);
  const right = groups(tail ?? "");
  const middle = Array.from({ length: 8 - left.length - right.length }, () => 0);
  return Uint8Array.from([...left, ...middle, ...right].flatMap((group) => [group >> 8, group & 0xff]));
}

/** Groups of 16 bits; a dotted tail is two groups. */
function groups(part: string): readonly number[] {
  if (part === "") {
    return [];
  }
  return part.split(":").flatMap((group) => {
    const [a, b, c, d] = group.split(".").map(Number);
    const isDotted = a !== undefined && b !== undefined && c !== undefined && d !== undefined;
    return isDotted ? [(a << 8) | b, (c << 8) | d] : [Number.parseInt(group, 16)];
  });
}

/** Parses `address/bits`; undefined for other text. Bits beyond the prefix are ignored. */
export function parseBlock(text: string): AddressBlock | undefined {
  const parts = blockForm.exec(text)?.groups;
  const prefix = parts?.["address"] === undefined ? undefined : parseAddress(parts["address"]);
  const bits = Number(parts?.["bits"]);
  return prefix === undefined || bits > prefix.length * 8 ? undefined : { prefix, bits };
}

/** True when the block contains the address; an IPv6 block contains no IPv4 address. */
export function blockHolds(block: AddressBlock, address: Address): boolean {
  const { prefix, bits } = block;
  if (prefix.length !== address.length) {
    return false;
  }
  const wholeBytes = bits >> 3;
  for (let index = 0; index < wholeBytes; index += 1) {
    if (prefix[index] !== address[index]) {
      return false;
    }
  }
  const restBits = bits & 7;
  const difference = (prefix[wholeBytes] ?? 0) ^ (address[wholeBytes] ?? 0);
  return restBits === 0 || difference >> (8 - restBits) === 0;
}
