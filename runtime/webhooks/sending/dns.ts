import { lookup, Resolver as NameServerResolver } from "node:dns/promises";

/**
 * The addresses of a host, at least one.
 *
 * @throws Error with a `code` when there are none
 */
export type Resolver = (host: string) => Promise<readonly string[]>;

interface ResolverOptions {
  /** Name servers, as `address` or `address:port`. @default those of the system */
  readonly servers?: readonly string[];
  /** Time limit of the first try of a query. @default 1500 */
  readonly queryTimeoutMs?: number;
}

const queryTriesMax = 2;

/**
 * Errors after which the operating system looks the host up: it knows `/etc/hosts` and search domains. After a timeout
 * it does not, because its look-up would block one of the few threads of the process as long again.
 */
const unknownHostCodes: ReadonlySet<unknown> = new Set(["ENOTFOUND", "ENODATA", "ECONNREFUSED"]);

/** Queries the name servers, which blocks no thread; then the operating system for hosts that they do not know. */
export function createResolver({ servers, queryTimeoutMs = 1_500 }: ResolverOptions = {}): Resolver {
  const nameServers = new NameServerResolver({ timeout: queryTimeoutMs, tries: queryTriesMax });
  if (servers !== undefined) {
    nameServers.setServers(servers);
  }
  return async (host) => {
    const results = await Promise.allSettled([nameServers.resolve4(host), nameServers.resolve6(host)]);
    const addresses = results.flatMap((result) => (result.status === "fulfilled" ? result.value : []));
    if (addresses.length > 0) {
      return addresses;
    }
    const failures = results.flatMap((result) => (result.status === "rejected" ? [result.reason as unknown] : []));
    const lasting = failures.find((failure) => !unknownHostCodes.has(codeOf(failure)));
    if (lasting !== undefined) {
      throw lasting;
    }
    const found = await lookup(host, { all: true, order: "ipv4first" });
    return found.map(({ address }) => address);
  };
}

/** The `code` of an error of Node. */
export function codeOf(error: unknown): string | undefined {
  const code: unknown = error instanceof Error && "code" in error ? error.code : undefined;
  return typeof code === "string" ? code : undefined;
}
