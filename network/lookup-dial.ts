import { lookup } from "node:dns/promises";
import { isIP, type Socket } from "node:net";
import { dial, DialTimeout, type DialOptions } from "./dial.ts";

/** Addresses that an error names. */
const shownMax = 4;

/** A host, its port and a time limit. */
export interface HostOptions extends Omit<DialOptions, "addresses"> {
  /** A name, or an address without brackets. */
  readonly host: string;
  /** @default the look-up of the operating system, in its order */
  readonly lookUp?: LookUp;
  /** True for an address that must never be connected. @default none */
  readonly rejects?: RejectAddress;
}

/** Judges an address, whether it was written or looked up. */
export type RejectAddress = (address: string) => boolean;

/** Returns the addresses of a host, the preferred one first. */
export type LookUp = (host: string) => Promise<readonly string[]>;

/**
 * Looks a host up and opens a TCP connection to it, all within the time limit.
 * @throws Error when every address is rejected; otherwise as {@link dial}
 */
export async function dialHost({ host, lookUp = systemLookUp, rejects, ...options }: HostOptions): Promise<Socket> {
  const startedAtMs = performance.now();
  const found = isIP(host) === 0 ? await withinTime(lookUp(host), options.timeoutMs) : [host];
  const addresses = rejects === undefined ? found : found.filter((address) => !rejects(address));
  if (addresses.length === 0 && found.length > 0)
    throw new Error(`${host} resolves only to blocked addresses: ${found.slice(0, shownMax).join(", ")}`);
  const timeoutMs = Math.max(1, options.timeoutMs - (performance.now() - startedAtMs));
  return dial({ ...options, addresses, timeoutMs });
}

async function systemLookUp(host: string): Promise<readonly string[]> {
  const found = await lookup(host, { all: true, order: "verbatim" });
  return found.map(({ address }) => address);
}

function withinTime<T>(work: Promise<T>, timeoutMs: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new DialTimeout(`no address in ${timeoutMs} ms`)), timeoutMs);
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
