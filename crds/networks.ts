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
const mappedIpv4 = 0xff_ffn;

/**
 * Reads `address/prefix`; undefined when it is none. Bits beyond the prefix may be set. IPv4 addresses mapped into IPv6
 * are no blocks of their own, as for the API server's `isCIDR`.
 */
export function parseCidr(text: string): Cidr | undefined {
  const { address = "", prefix = "" } = form.exec(text)?.groups ?? {};
  const length = Number(prefix);
  if (isIPv4(address)) return length <= 32 ? block(32, ipv4Number(address), length) : undefined;
  if (!isIPv6(address) || length > 128) return undefined;
  const number = ipv6Number(address);
  return number >> 32n === mappedIpv4 ? undefined : block(128, number, length);
}

/** Whether every address of `inner` is one of `outer`. */
export function contains(outer: Cidr, inner: Cidr): boolean {
  return outer.bits === inner.bits && outer.prefix <= inner.prefix && block(inner.bits, inner.first, outer.prefix).first === outer.first;
}

function block(bits: 32 | 128, address: bigint, prefix: number): Cidr {
  const rest = BigInt(bits - prefix);
  return { bits, first: (address >> rest) << rest, prefix };
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

/**
 * Where clouds serve instance metadata and credentials. No policy and no resource opens them: AWS, Azure, Google Cloud
 * and others on link-local addresses, AWS on IPv6, Alibaba Cloud, Azure's platform address, Oracle Cloud, Google Cloud
 * and Scaleway on IPv6.
 */
export const metadataCidrs: readonly string[] = [
  "169.254.0.0/16",
  "100.100.100.200/32",
  "168.63.129.16/32",
  "192.0.0.192/32",
  "fe80::/10",
  "fd00:ec2::/32",
  "fd20:ce::254/128",
  "fd00:42::42/128",
];
