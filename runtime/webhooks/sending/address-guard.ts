import type { NetworksConfig } from "../../../crds/config.ts";
import { isIPv4, isIPv6 } from "node:net";
import { metadataRows, type SpecialRow, specialRows } from "../../../crds/networks.ts";

/** The networks in which one partner may be reached. */
export interface Guard {
  readonly allowed: readonly AddressBlock[];
  readonly allowPlaintext: boolean;
}

/** An IP address: 4 bytes for IPv4, 16 for IPv6, in network order. */
type Address = Uint8Array;

/** A CIDR block. */
interface AddressBlock {
  readonly prefix: Address;
  readonly bits: number;
}

const blockForm = /^(?<address>[^/]+)\/(?<bits>\d{1,3})$/u;

/** A block in which no public endpoint of a partner can be. */
interface SpecialBlock extends AddressBlock {
  /** The block, for people. */
  readonly text: string;
  readonly name: string;
}

/** Blocks that only an allow-list opens; the first block with an address gives it its name. */
export const specialBlocks: readonly SpecialBlock[] = specialRows.flatMap(toBlock);

/** Blocks that no allow-list opens. */
export const metadataBlocks: readonly SpecialBlock[] = metadataRows.flatMap(toBlock);

/** Compiles a partner's networks. A block that does not parse allows nothing. */
export function createGuard(networks: NetworksConfig): Guard {
  const allowed = networks.allowCidrs.map(parseBlock).filter((block) => block !== undefined);
  return { allowed, allowPlaintext: networks.allowPlaintext };
}

/**
 * Checks a URL; returns why it must not be requested. The URL parser has already turned octal, decimal and hexadecimal
 * forms of IPv4 into dotted ones. The addresses of a host name are checked on connect.
 */
export function urlFault(guard: Guard, url: URL): string | undefined {
  if (url.protocol !== "https:" && url.protocol !== "http:") return `${url.protocol} is not HTTP`;
  if (url.protocol === "http:" && !guard.allowPlaintext) return "plain http is not allowed";
  if (url.username !== "" || url.password !== "") return "credentials in the URL are not allowed";
  const host = hostOf(url);
  return parseAddress(host) === undefined ? undefined : addressFault(guard, host);
}

/** The host of a URL without the brackets of an IPv6 literal. */
function hostOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$/gu, "");
}

/**
 * Checks an address; returns why no connection to it is allowed. IPv4 addresses inside the address are checked too. So
 * an allowed translation prefix does not open networks that are closed otherwise.
 */
export function addressFault(guard: Guard, text: string): string | undefined {
  const address = parseAddress(text);
  if (address === undefined) return `${text} is not an IP address`;
  const carried = carriedIPv4(address);
  const metadata = [address, ...carried.certain, ...carried.possible]
    .map(metadataName)
    .find((name) => name !== undefined);
  if (metadata !== undefined) return `${text} is ${metadata}, which is never allowed`;
  const special = checkedAddresses(address, carried)
    .map((one) => specialName(guard, one))
    .find((name) => name !== undefined);
  return special === undefined ? undefined : `${text} is ${special}, which is not allowed`;
}

/**
 * A public IPv4 address behind the well-known prefix of NAT64 is judged alone, because clusters with DNS64 reach every
 * IPv4-only endpoint that way. Any other address behind the prefix needs both the prefix and itself in the allow-list.
 */
function checkedAddresses(address: Address, { certain, decidedBy }: CarriedIPv4): readonly Address[] {
  switch (decidedBy) {
    case "carried":
      return certain;
    case "carried if public":
      return certain.every((one) => specialBlocks.every((block) => !blockHolds(block, one)))
        ? certain
        : [...certain, address];
    case "both":
      return [address, ...certain];
  }
}

function metadataName(address: Address): string | undefined {
  return metadataBlocks.find((block) => blockHolds(block, address))?.name;
}

function specialName(guard: Guard, address: Address): string | undefined {
  if (guard.allowed.some((block) => blockHolds(block, address))) return undefined;
  const block = specialBlocks.find((special) => blockHolds(special, address));
  return block === undefined ? undefined : `${block.name} (${block.text})`;
}

/** IPv4 addresses inside an IPv6 address. */
interface CarriedIPv4 {
  /** Addresses that packets certainly reach. */
  readonly certain: readonly Address[];
  /** Addresses that packets reach in some networks. */
  readonly possible: readonly Address[];
  readonly decidedBy: Deciding;
}

/** The addresses that decide. `carried`: the operating system connects to the IPv4 address instead. */
type Deciding = "carried" | "carried if public" | "both";

interface CarryingForm {
  readonly block: AddressBlock | undefined;
  readonly read: (address: Address) => Omit<CarriedIPv4, "decidedBy">;
  /** @default "both" */
  readonly decidedBy?: Deciding;
}

const lastBytes = (address: Address): Address => address.subarray(12);

const carryingForms: readonly CarryingForm[] = [
  { block: parseBlock("::ffff:0:0/96"), read: lastFour, decidedBy: "carried" },
  { block: parseBlock("::/96"), read: (at) => ({ certain: [], possible: [lastBytes(at)] }) },
  { block: parseBlock("64:ff9b::/96"), read: lastFour, decidedBy: "carried if public" },
  { block: parseBlock("64:ff9b:1::/48"), read: (at) => ({ certain: [], possible: localNat64(at) }) },
  { block: parseBlock("2002::/16"), read: (at) => ({ certain: [at.subarray(2, 6)], possible: [] }) },
  { block: parseBlock("2001::/32"), read: (at) => ({ certain: teredo(at), possible: [] }) },
];

function lastFour(address: Address): Omit<CarriedIPv4, "decidedBy"> {
  return { certain: [lastBytes(address)], possible: [] };
}

function carriedIPv4(address: Address): CarriedIPv4 {
  const form = carryingForms.find(({ block }) => block !== undefined && blockHolds(block, address));
  if (form === undefined) return { certain: [], possible: [], decidedBy: "both" };
  return { ...form.read(address), decidedBy: form.decidedBy ?? "both" };
}

/** The address of the server, and that of the client with its bits inverted. Source: RFC 4380 §4. */
function teredo(address: Address): readonly Address[] {
  return [address.subarray(4, 8), lastBytes(address).map((byte) => byte ^ 0xff)];
}

/** The layouts for prefixes of 48, 56, 64 and 96 bits; all skip the ninth byte. Source: RFC 6052 §2.2. */
function localNat64(address: Address): readonly Address[] {
  const layouts = [
    [6, 7, 9, 10],
    [7, 9, 10, 11],
    [9, 10, 11, 12],
    [12, 13, 14, 15],
  ];
  return layouts.map((layout) => Uint8Array.from(layout, (index) => address[index] ?? 0));
}

/** Parses an address; undefined for other text, and for an address with a zone (`%eth0`). */
export function parseAddress(text: string): Address | undefined {
  if (isIPv4(text)) return Uint8Array.from(text.split("."), Number);
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
  if (part === "") return [];
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
  if (prefix.length !== address.length) return false;
  const wholeBytes = bits >> 3;
  for (let index = 0; index < wholeBytes; index += 1) {
    if (prefix[index] !== address[index]) return false;
  }
  const restBits = bits & 7;
  const difference = (prefix[wholeBytes] ?? 0) ^ (address[wholeBytes] ?? 0);
  return restBits === 0 || difference >> (8 - restBits) === 0;
}

function toBlock([text, name]: SpecialRow): readonly SpecialBlock[] {
  const block = parseBlock(text);
  return block === undefined ? [] : [{ ...block, text, name }];
}
