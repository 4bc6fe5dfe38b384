import type { NetworksConfig } from "../../../crds/config.ts";
import {
  type Cidr,
  contains,
  metadataBlocks,
  parseAddress,
  parseBlock,
  specialBlocks,
} from "../../../crds/networks.ts";

/** The networks in which one partner may be reached. */
export interface AddressGuard {
  readonly allowed: readonly Cidr[];
  readonly allowPlaintext: boolean;
}

/** Compiles a partner's networks. A block that does not parse allows nothing. */
export function createAddressGuard(networks: NetworksConfig): AddressGuard {
  const allowed = networks.allowCidrs.map(parseBlock).filter((block) => block !== undefined);
  return { allowed, allowPlaintext: networks.allowPlaintext };
}

/**
 * Checks a URL; returns why it must not be requested. The URL parser has already turned octal, decimal and hexadecimal
 * forms of IPv4 into dotted ones. The addresses of a host name are checked on connect.
 */
export function urlFault(guard: AddressGuard, url: URL): string | undefined {
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
export function addressFault(guard: AddressGuard, text: string): string | undefined {
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
function checkedAddresses(address: Cidr, { certain, decidedBy }: CarriedIPv4): readonly Cidr[] {
  switch (decidedBy) {
    case "carried":
      return certain;
    case "carried if public":
      return certain.every((one) => specialBlocks.every(({ cidr }) => !contains(cidr, one)))
        ? certain
        : [...certain, address];
    case "both":
      return [address, ...certain];
  }
}

function metadataName(address: Cidr): string | undefined {
  return metadataBlocks.find(({ cidr }) => contains(cidr, address))?.name;
}

function specialName(guard: AddressGuard, address: Cidr): string | undefined {
  if (guard.allowed.some((block) => contains(block, address))) return undefined;
  const block = specialBlocks.find(({ cidr }) => contains(cidr, address));
  return block === undefined ? undefined : `${block.name} (${block.text})`;
}

/** IPv4 addresses inside an IPv6 address. */
interface CarriedIPv4 {
  /** Addresses that packets certainly reach. */
  readonly certain: readonly Cidr[];
  /** Addresses that packets reach in some networks. */
  readonly possible: readonly Cidr[];
  readonly decidedBy: Deciding;
}

/** The addresses that decide. `carried`: the operating system connects to the IPv4 address instead. */
type Deciding = "carried" | "carried if public" | "both";

/** Places of the four bytes of an IPv4 address in an IPv6 address. */
type Places = readonly number[];

interface CarryingForm {
  readonly block: Cidr | undefined;
  readonly certain?: readonly Places[];
  /** Certain addresses whose bits are inverted. */
  readonly inverted?: readonly Places[];
  readonly possible?: readonly Places[];
  /** @default "both" */
  readonly decidedBy?: Deciding;
}

const lastBytes: Places = [12, 13, 14, 15];

/** The layouts for prefixes of 48, 56, 64 and 96 bits; all skip the ninth byte. Source: RFC 6052 §2.2. */
const localNat64: readonly Places[] = [[6, 7, 9, 10], [7, 9, 10, 11], [9, 10, 11, 12], lastBytes];

const carryingForms: readonly CarryingForm[] = [
  { block: parseBlock("::ffff:0:0/96"), certain: [lastBytes], decidedBy: "carried" },
  { block: parseBlock("::/96"), possible: [lastBytes] },
  { block: parseBlock("64:ff9b::/96"), certain: [lastBytes], decidedBy: "carried if public" },
  { block: parseBlock("64:ff9b:1::/48"), possible: localNat64 },
  { block: parseBlock("2002::/16"), certain: [[2, 3, 4, 5]] },
  // The address of the server, and that of the client with its bits inverted. Source: RFC 4380 §4.
  { block: parseBlock("2001::/32"), certain: [[4, 5, 6, 7]], inverted: [lastBytes] },
];

function carriedIPv4(address: Cidr): CarriedIPv4 {
  const form = carryingForms.find(({ block }) => block !== undefined && contains(block, address));
  const { certain = [], inverted = [], possible = [], decidedBy = "both" }: Partial<CarryingForm> = form ?? {};
  const at = (places: Places): Cidr => ipv4At(address, places);
  const turned = inverted.map(at).map((one) => ({ ...one, first: one.first ^ 0xff_ff_ff_ffn }));
  return { certain: [...certain.map(at), ...turned], possible: possible.map(at), decidedBy };
}

function ipv4At({ first }: Cidr, places: Places): Cidr {
  const byteAt = (place: number): bigint => (first >> BigInt(8 * (15 - place))) & 0xffn;
  return { bits: 32, first: places.reduce((sum, place) => (sum << 8n) | byteAt(place), 0n), prefix: 32 };
}
