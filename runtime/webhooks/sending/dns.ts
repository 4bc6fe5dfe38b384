import { Resolver as NameServerResolver } from "node:dns/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { createSingleFlight, ExpiringMap } from "../../../limits/bounded-map.ts";
import { readFileSync, statSync } from "node:fs";
import { isIP, isIPv4 } from "node:net";

/** Looks hosts up. */
export interface Resolver {
  /**
   * The addresses of a host, at least one.
   *
   * @throws Error with a `code` when there are none
   */
  (host: string): Promise<readonly string[]>;
  /** Drops the cached addresses of a host, because no connection to them came about. @default nothing is cached */
  readonly forget?: (host: string) => void;
}

interface ResolverOptions {
  /** Name servers, as `address` or `address:port`. @default those of the system */
  readonly servers?: readonly string[];
  /** Time limit of each try of a query. @default 1500 */
  readonly queryTimeoutMs?: number;
  /** @default "/etc/hosts" */
  readonly hostsFile?: string;
}

/** Addresses and the time for which they may be cached. */
interface Found {
  readonly addresses: readonly string[];
  readonly ttlSeconds: number;
}

/**
 * Tries of one query. c-ares waits for five times the usual time of the name server, at first 250 ms, and doubles that
 * for each try: with four, a name that the server must look up itself has over three seconds.
 */
const queryTriesMax = 4;
const cachedMax = 4_096;
/** A connection is replaced as often, so that no address is used for much longer than this. */
const ttlSecondsMax = 300;
const secondMs = 1_000;
/** Wait for the other family after the first one. Source: RFC 8305 §3, Resolution Delay. */
const resolutionDelayMs = 50;
/** Source: RFC 6761 §6.3. */
const loopbackName = /^(?:.+\.)?localhost$/u;
const loopback = ["127.0.0.1", "::1"];
/** Errors that say that a name has no address of a family. */
const unknownHostCodes: ReadonlySet<unknown> = new Set(["ENOTFOUND", "ENODATA"]);

/** Addresses by name, lowercase and without a dot at the end; IPv4 first. */
type Hosts = ReadonlyMap<string, readonly string[]>;

/** Returns the addresses that the file has for a name; undefined for none. */
type HostsFile = (name: string) => readonly string[] | undefined;

const checkMs = 1_000;
const fileBytesMax = 1_048_576;

/**
 * Looks hosts up in the hosts file, else by the name servers: as they are, without search domains. No look-up of the
 * operating system is made, because each would occupy one of the few threads of the process. Responses are cached for
 * their TTL, and concurrent look-ups of a host share one.
 */
export function createResolver({
  servers,
  queryTimeoutMs = 1_500,
  hostsFile = "/etc/hosts",
}: ResolverOptions = {}): Resolver {
  const nameServers = new NameServerResolver({
    timeout: queryTimeoutMs,
    maxTimeout: queryTimeoutMs,
    tries: queryTriesMax,
  });
  if (servers !== undefined) nameServers.setServers(servers);
  const fixed = openHostsFile(hostsFile);
  const cached = new ExpiringMap<string, readonly string[]>(cachedMax);
  const once = createSingleFlight<readonly string[]>();
  const resolve = async (host: string): Promise<readonly string[]> => {
    const name = plainName(host);
    const known = fixed(name) ?? (loopbackName.test(name) ? loopback : cached.use(name, performance.now()));
    return (
      known ??
      (await once(name, async () => {
        const { addresses, ttlSeconds } = await query(nameServers, name);
        cached.set(name, addresses, performance.now() + Math.min(ttlSeconds, ttlSecondsMax) * secondMs);
        return addresses;
      }))
    );
  };
  return Object.assign(resolve, { forget: (host: string) => cached.delete(plainName(host)) });
}

/** Queries both families. The second one has a moment longer than the first one with addresses. */
async function query(nameServers: NameServerResolver, name: string): Promise<Found> {
  const families = [nameServers.resolve4(name, { ttl: true }), nameServers.resolve6(name, { ttl: true })] as const;
  const results = new Map<number, readonly { readonly address: string; readonly ttl: number }[]>();
  const failures: unknown[] = [];
  const all = families.map((family, index) =>
    family.then(
      (records) => void results.set(index, records),
      (failure: unknown) => void failures.push(failure),
    ),
  );
  await Promise.any(families).catch(() => undefined);
  if (results.size > 0) await Promise.race([Promise.all(all), sleep(resolutionDelayMs, undefined, { ref: false })]);
  else await Promise.all(all);
  const records = [0, 1].flatMap((index) => results.get(index) ?? []);
  if (records.length === 0) throw failures.find((failure) => !unknownHostCodes.has(codeOf(failure))) ?? failures[0];
  return { addresses: records.map(({ address }) => address), ttlSeconds: Math.min(...records.map(({ ttl }) => ttl)) };
}

/** The `code` of an error of Node. */
export function codeOf(error: unknown): string | undefined {
  const code: unknown = error instanceof Error && "code" in error ? error.code : undefined;
  return typeof code === "string" ? code : undefined;
}

/**
 * Reads a hosts file again after a change of it, which is looked for at most once a second. The calls are synchronous:
 * they take microseconds, and an asynchronous one would wait for a free thread of the process.
 */
function openHostsFile(path: string): HostsFile {
  let hosts: Hosts = new Map();
  let version = "";
  let checkedAtMs = -Infinity;
  return (name) => {
    const nowMs = performance.now();
    if (nowMs - checkedAtMs >= checkMs) {
      checkedAtMs = nowMs;
      const next = versionOf(path);
      hosts = next === version ? hosts : parseHosts(textOf(path));
      version = next;
    }
    return hosts.get(name);
  };
}

function versionOf(path: string): string {
  const found = statSync(path, { throwIfNoEntry: false });
  return found === undefined || found.size > fileBytesMax ? "" : `${found.mtimeMs} ${found.ino} ${found.size}`;
}

function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    // The file was removed, or may not be read.
    return "";
  }
}

/** Parses the lines `address name name…`. Addresses with a zone and other text are left out. */
export function parseHosts(text: string): Hosts {
  const found = new Map<string, string[]>();
  for (const line of text.split("\n")) {
    const [address = "", ...names] = line.replace(/#.*$/u, "").trim().split(/\s+/u);
    if (isIP(address) === 0 || address.includes("%")) continue;
    for (const name of names.map(plainName)) {
      const before = found.get(name) ?? [];
      if (!before.includes(address)) found.set(name, [...before, address]);
    }
  }
  return new Map([...found].map(([name, addresses]) => [name, ipv4First(addresses)]));
}

/** A name as it is compared. */
function plainName(name: string): string {
  return name.toLowerCase().replace(/\.$/u, "");
}

function ipv4First(addresses: readonly string[]): readonly string[] {
  return [...addresses.filter((address) => isIPv4(address)), ...addresses.filter((address) => !isIPv4(address))];
}
