/** A block of addresses and its name. */
export type SpecialRow = readonly [block: string, name: string];

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
export const metadataRows: readonly SpecialRow[] = [
  ["169.254.0.0/16", "link local and instance metadata"],
  ["100.100.100.200/32", "instance metadata"],
  ["168.63.129.16/32", "instance metadata"],
  ["192.0.0.192/32", "instance metadata"],
  ["fe80::/10", "link local and instance metadata"],
  ["fd00:ec2::/32", "instance metadata"],
  ["fd20:ce::254/128", "instance metadata"],
  ["fd00:42::42/128", "instance metadata"],
];

/** Blocks that only `networks.allowCidrs` opens; the first that holds an address names it. */
export const specialRows: readonly SpecialRow[] = [...ipv4Rows, ...ipv6Rows];
