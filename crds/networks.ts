import { isIPv4, isIPv6 } from "node:net";

/** A block of addresses. */
export interface Cidr {
  readonly bits: 32 | 128;
  /** First address of the block, as a number. */
  readonly first: bigint;
  /** Length of the prefix. */
  readonly prefix: number;
}

const form = /^(?<address>[0-9A-Fa-f:.]+)\/(?<prefix>0|[1-9][0-9]{0,2})$/u;

/** A block of addresses and its name. */
type SpecialRow = readonly [block: string, name: string];

/** Source: IANA IPv4 Special-Purpose Address Registry, every row, and the multicast space of RFC 5771. */
const ipv4Rows: readonly SpecialRow[] = [
  ["0.0.0.0/8", "this network"],
  ["10.0.0.0/8", "private use"],
  ["100.64.0.0/10", "shared address space"],
  ["127.0.0.0/8", "loopback"],
  ["169.254.0.0/16", "link local"],
  ["172.16.0.0/12", "private use"],
  ["192.0.0.0/29", "IPv4 service continuity"],
  ["192.0.0.8/32", "IPv4 dummy address"],
  ["192.0.0.9/32", "port control protocol anycast"],
  ["192.0.0.10/32", "traversal using relays around NAT anycast"],
  ["192.0.0.170/31", "NAT64 and DNS64 discovery"],
  ["192.0.0.0/24", "IETF protocol assignments"],
  ["192.0.2.0/24", "documentation"],
  ["192.31.196.0/24", "AS112"],
  ["192.52.193.0/24", "automatic multicast tunneling"],
  ["192.88.99.0/24", "6to4 relay anycast"],
  ["192.168.0.0/16", "private use"],
  ["192.175.48.0/24", "AS112 direct delegation"],
  ["198.18.0.0/15", "benchmarking"],
  ["198.51.100.0/24", "documentation"],
  ["203.0.113.0/24", "documentation"],
  ["224.0.0.0/4", "multicast"],
  ["255.255.255.255/32", "limited broadcast"],
  ["240.0.0.0/4", "reserved"],
];

/**
 * Source: IANA IPv6 Special-Purpose Address Registry, every row; multicast, site local and the IPv4-compatible space of
 * RFC 4291; and last everything outside the one block that global unicast is assigned from.
 */
const ipv6Rows: readonly SpecialRow[] = [
  ["::/128", "unspecified address"],
  ["::1/128", "loopback"],
  ["::ffff:0:0/96", "IPv4-mapped"],
  ["::/96", "IPv4-compatible"],
  ["64:ff9b::/96", "NAT64"],
  ["64:ff9b:1::/48", "local-use NAT64"],
  ["100::/64", "discard only"],
  ["100:0:0:1::/64", "dummy prefix"],
  ["2001::/32", "Teredo"],
  ["2001:1::1/128", "port control protocol anycast"],
  ["2001:1::2/128", "traversal using relays around NAT anycast"],
  ["2001:1::3/128", "DNS-SD service registration anycast"],
  ["2001:2::/48", "benchmarking"],
  ["2001:3::/32", "automatic multicast tunneling"],
  ["2001:4:112::/48", "AS112"],
  ["2001:10::/28", "deprecated ORCHID"],
  ["2001:20::/28", "ORCHID version 2"],
  ["2001:30::/28", "drone remote identification"],
  ["2001::/23", "IETF protocol assignments"],
  ["2001:db8::/32", "documentation"],
  ["2002::/16", "6to4"],
  ["2620:4f:8000::/48", "AS112 direct delegation"],
  ["3fff::/20", "documentation"],
  ["5f00::/16", "segment routing identifiers"],
  ["fc00::/7", "unique local"],
  ["fe80::/10", "link local"],
  ["fec0::/10", "site local"],
  ["ff00::/8", "multicast"],
  ["::/3", "reserved"],
  ["4000::/2", "reserved"],
  ["8000::/1", "reserved"],
];

/**
 * Addresses of instance metadata and credentials, with their link-local spaces. The single addresses are those of
 * Alibaba Cloud, Azure, Oracle Cloud, Amazon Web Services, Google Cloud and Scaleway. No allow-list opens them.
 */
const metadataRows: readonly SpecialRow[] = [
  ["169.254.0.0/16", "link local and instance metadata"],
  ["100.100.100.200/32", "instance metadata"],
  ["168.63.129.16/32", "instance metadata"],
  ["192.0.0.192/32", "instance metadata"],
  ["fe80::/10", "link local and instance metadata"],
  ["fd00:ec2::/32", "instance metadata"],
  ["fd20:ce::254/128", "instance metadata"],
  ["fd00:42::42/128", "instance metadata"],
];

/** Reads an IP address as the block of it alone; undefined for other text, and for an address with a zone (`%eth0`). */
export function parseAddress(text: string): Cidr | undefined {
  if (isIPv4(text)) return block(32, ipv4Number(text), 32);
  return isIPv6(text) && !text.includes("%") ? block(128, ipv6Number(text), 128) : undefined;
}

/** Reads `address/prefix`; undefined when it is none. Bits beyond the prefix may be set. */
export function parseBlock(text: string): Cidr | undefined {
  const { address = "", prefix = "" } = form.exec(text)?.groups ?? {};
  const found = parseAddress(address);
  return found && Number(prefix) <= found.bits ? block(found.bits, found.first, Number(prefix)) : undefined;
}

/**
 * Reads a block as {@link parseBlock} does. IPv4 addresses mapped into IPv6 are no addresses of their own, as for the
 * API server's `isCIDR` and `isIP`.
 */
export function parseCidr(text: string): Cidr | undefined {
  const [address = ""] = text.split("/");
  return isIPv4(address) || isIPv6Address(address) ? parseBlock(text) : undefined;
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

/** A block of special use, and how people know it. */
interface NamedBlock {
  readonly cidr: Cidr;
  readonly text: string;
  readonly name: string;
}

/** Blocks that only `networks.allowCidrs` opens; the first that holds an address names it. */
export const specialBlocks: readonly NamedBlock[] = [...ipv4Rows, ...ipv6Rows].flatMap(named);
/** Blocks that no allow-list opens. */
export const metadataBlocks: readonly NamedBlock[] = metadataRows.flatMap(named);

function named([text, name]: SpecialRow): readonly NamedBlock[] {
  const cidr = parseBlock(text);
  return cidr === undefined ? [] : [{ cidr, text, name }];
}

/** The well-known prefix of NAT64, behind which the last 32 bits are an IPv4 address. Source: RFC 6052 §2.1. */
const nat64 = block(128, 0x64_ff9bn << 96n, 96);

/** The IPv4 block behind NAT64's well-known prefix; undefined for any other block. */
export function behindNat64(inner: Cidr): Cidr | undefined {
  return contains(nat64, inner) ? block(32, inner.first & 0xff_ff_ff_ffn, inner.prefix - nat64.prefix) : undefined;
}

/** True for a block that holds only addresses of instance metadata, also behind NAT64. */
export function isMetadata(inner: Cidr): boolean {
  const judged = behindNat64(inner) ?? inner;
  return metadataBlocks.some(({ cidr }) => contains(cidr, judged));
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
  const row = specialBlocks.find(({ cidr }) => contains(cidr, judged));
  return row && `${row.name} (${row.text})`;
}
