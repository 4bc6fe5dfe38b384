import { isIPv4, isIPv6 } from "node:net";

/** An IP address: 4 bytes for IPv4, 16 for IPv6, in network order. */
export type Address = Uint8Array;

/** A CIDR block. */
export interface AddressBlock {
  readonly prefix: Address;
  readonly bits: number;
}

const blockForm = /^(?<address>[^/]+)\/(?<bits>\d{1,3})$/u;

/** Reads one spelling of an address; undefined for anything else, a zone (`%eth0`) included. */
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

/** Groups of 16 bits; a dotted tail makes two. */
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

/** Reads `address/bits`; undefined when it is none. Bits beyond the prefix may be set, they do not count. */
export function parseBlock(text: string): AddressBlock | undefined {
  const parts = blockForm.exec(text)?.groups;
  const prefix = parts?.["address"] === undefined ? undefined : parseAddress(parts["address"]);
  const bits = Number(parts?.["bits"]);
  return prefix === undefined || bits > prefix.length * 8 ? undefined : { prefix, bits };
}

/** Whether the address lies in the block; an IPv4 address never lies in an IPv6 block. */
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
