import { readFileSync, statSync } from "node:fs";
import { isIP, isIPv4 } from "node:net";

/** Addresses by name, lowercase and without a dot at the end; IPv4 first. */
type Hosts = ReadonlyMap<string, readonly string[]>;

/** Returns the addresses that the file has for a name; undefined for none. */
export type HostsFile = (name: string) => readonly string[] | undefined;

const checkMs = 1_000;
const fileBytesMax = 1_048_576;

/**
 * Reads a hosts file again after a change of it, which is looked for at most once a second. The calls are synchronous:
 * they take microseconds, and an asynchronous one would wait for a free thread of the process.
 */
export function openHostsFile(path: string): HostsFile {
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
export function plainName(name: string): string {
  return name.toLowerCase().replace(/\.$/u, "");
}

function ipv4First(addresses: readonly string[]): readonly string[] {
  return [...addresses.filter((address) => isIPv4(address)), ...addresses.filter((address) => !isIPv4(address))];
}
