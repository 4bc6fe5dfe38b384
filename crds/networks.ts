import { isIPv4, isIPv6 } from "node:net";
import { metadataRows, specialRows } from "./special-networks.ts";

/** A block of addresses. */
export interface Cidr {
  readonly bits: 32 | 128;
  /** First address of the block, as a number. */
  readonly first: bigint;
  /** Length of the prefix. */
  readonly prefix: number;
}

const form = /^(?<address>[0-9A-Fa-f:.]+)\/(?<prefix>0|[1-9][0-9]{0,2})$/u;

/**
 * Reads `address/prefix`; undefined when it is none. Bits beyond the prefix may be set. IPv4 addresses mapped into IPv6
 * are no addresses of their own, as for the API server's `isCIDR` and `isIP`.
 */
export function parseCidr(text: string): Cidr | undefined {
  const { address = "", prefix = "" } = form.exec(text)?.groups ?? {};
  const length = Number(prefix);
  if (isIPv4(address)) return length <= 32 ? block(32, ipv4Number(address), length) : undefined;
  return isIPv6Address(address) && length <= 128 ? block(128, ipv6Number(address), length) : undefined;
}

/** True for an IPv6 address without a zone and without an IPv4 address mapped into it. */
export function isIPv6Address(text: string): boolean {
  return isIPv6(text) && !text.includes("%") && !isMapped(ipv6Number(text));
}

/** True when every address of `inner` is in `outer`. */
export function contains(outer: Cidr, inner: Cidr): boolean {
  const widened = block(inner.bits, inner.first, Math.min(outer.prefix, inner.prefix));
  return outer.bits === inner.bits && outer.prefix === widened.prefix && outer.first === widened.first;
}

function block(bits: 32 | 128, address: bigint, prefix: number): Cidr {
  const rest = BigInt(bits - prefix);
  return { bits, first: (address >> rest) << rest, prefix };
}

function isMapped(address: bigint): boolean {
  return address >> 32n === 0xff_ffn;
}

function ipv4Number(address: string): bigint {
  return address.split(".").reduce((sum, octet) => (sum << 8n) | BigInt(octet), 0n);
}

function ipv6Number(address: string): bigint {
  const [head = "", tail] = address.split("::");
  const left = groups(head);
  const right = groups(tail ?? "");
  const zeros = Array.from({ length: 8 - left.length - right.length }, () => 0n);
  return [...left, ...zeros, ...right].reduce((sum, group) => (sum << 16n) | group, 0n);
}

/** Groups of 16 bits; a dotted end counts as two. */
function groups(part: string): readonly bigint[] {
  if (part === "") return [];
  return part.split(":").flatMap((group) => {
    if (!group.includes(".")) return [BigInt(`0x${group}`)];
    const number = ipv4Number(group);
    return [number >> 16n, number & 0xff_ffn];
  });
}

const specialCidrs = specialRows.map(([text, name]) => ({ text, name, cidr: parseCidr(text) }));
const metadataCidrs = metadataRows.map(([text]) => parseCidr(text));

/** The well-known prefix of NAT64, behind which the last 32 bits are an IPv4 address. Source: RFC 6052 §2.1. */
const nat64 = block(128, 0x64_ff9bn << 96n, 96);

/** The IPv4 block behind NAT64's well-known prefix; undefined for any other block. */
export function behindNat64(inner: Cidr): Cidr | undefined {
  return contains(nat64, inner) ? block(32, inner.first & 0xff_ff_ff_ffn, inner.prefix - nat64.prefix) : undefined;
}

/** True for a block that holds only addresses of instance metadata, also behind NAT64. */
export function isMetadata(inner: Cidr): boolean {
  const judged = behindNat64(inner) ?? inner;
  return metadataCidrs.some((outer) => outer !== undefined && contains(outer, judged));
}

/**
 * True for an address of instance metadata or of link-local use, as a socket or a look-up writes it, and for a text
 * that is no address.
 */
export function isMetadataAddress(text: string): boolean {
  const address = text.replace(/%.*$/u, "").replace(/^::ffff:(?=[\d.]+$)/iu, "");
  const cidr = parseCidr(`${address}/${isIPv4(address) ? 32 : 128}`);
  return cidr === undefined || isMetadata(cidr);
}

/**
 * The name of the block of special use that holds an address, such as `loopback (127.0.0.0/8)`; undefined for a public
 * address. Behind NAT64, the IPv4 address decides.
 */
export function specialUse(address: Cidr): string | undefined {
  const judged = behindNat64(address) ?? address;
  const row = specialCidrs.find(({ cidr }) => cidr !== undefined && contains(cidr, judged));
  return row && `${row.name} (${row.text})`;
}
