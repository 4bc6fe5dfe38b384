import { lookup } from "node:dns/promises";
import { isIP, type Socket } from "node:net";
import { dial, DialTimeout, type DialOptions } from "./dial.ts";

/** A host, its port and a time limit. */
export interface HostOptions extends Omit<DialOptions, "addresses"> {
  /** A name, or an address without brackets. */
  readonly host: string;
  /** @default the look-up of the operating system, in its order */
  readonly lookUp?: LookUp;
}

/** Returns the addresses of a host, the preferred one first. */
export type LookUp = (host: string) => Promise<readonly string[]>;

/** Looks a host up and opens a TCP connection to it, all within the time limit. @throws as {@link dial} */
export async function dialHost({ host, lookUp = systemLookUp, ...options }: HostOptions): Promise<Socket> {
  const startedAtMs = performance.now();
  const addresses = isIP(host) === 0 ? await withinTime(lookUp(host), options.timeoutMs) : [host];
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
