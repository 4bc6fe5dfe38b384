import type { IncomingHttpHeaders } from "node:http";
import { BlockList, isIP, isIPv4, type Socket } from "node:net";
import type { Settings } from "../../config/settings/settings.ts";

/** The address that a request came from, as far as it can be known; undefined for a socket that is closed. */
export type ReadAddress = (socket: Pick<Socket, "remoteAddress">, headers: IncomingHttpHeaders) => string | undefined;

/** A dual-stack socket reports IPv4 addresses as IPv4-mapped IPv6 addresses. */
function plainAddress(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/iu, "");
}

/** Matches addresses in these CIDR blocks. */
export function addressMatcher(blocks: readonly string[]): (address: string | undefined) => boolean {
  const list = new BlockList();
  for (const block of blocks) {
    const [address = "", bits] = block.split("/");
    list.addSubnet(address, Number(bits), isIPv4(address) ? "ipv4" : "ipv6");
  }
  return (address) => {
    if (address === undefined) return false;
    const plain = plainAddress(address);
    return isIP(plain) !== 0 && list.check(plain, isIPv4(plain) ? "ipv4" : "ipv6");
  };
}

/**
 * Reads the client's address. It is the address of the connection. On a connection of a trusted proxy, it is the last
 * entry of `X-Forwarded-For` that is no trusted proxy. Entries that the client wrote stand before that one and have no
 * effect.
 */
export function createAddressReader({ trustedProxies }: Pick<Settings, "trustedProxies">): ReadAddress {
  const isProxy = addressMatcher(trustedProxies?.addresses ?? []);
  return ({ remoteAddress }, headers) => {
    if (!isProxy(remoteAddress)) return remoteAddress;
    const forwarded = String(headers["x-forwarded-for"] ?? "")
      .split(",")
      .map((address) => address.trim());
    const client = forwarded.findLast((address) => !isProxy(address));
    return client !== undefined && isIP(plainAddress(client)) !== 0 ? client : remoteAddress;
  };
}
