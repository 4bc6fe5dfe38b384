/**
 * `IPv6` makes a node whose addresses, pods and services have that family only. With `DualStack` they have both, IPv4
 * first.
 */
export const familyVariable = "HELIOGRAPH_CLUSTER_FAMILY";
export const isIPv6 = process.env[familyVariable] === "IPv6";
const isDualStack = process.env[familyVariable] === "DualStack";

/** The node's first address; pods, services and this machine's tests reach it, nothing else can. */
export const nodeAddress = isIPv6 ? "fd00:89::1" : "10.89.0.1";
/** The same, in a URL. */
export const nodeHost = isIPv6 ? `[${nodeAddress}]` : nodeAddress;
/** The name by which the node registers. */
export const nodeName = "node";
export const apiPort = 6443;
/** The API server as the service `kubernetes` shows it: the first address of the service range. */
export const apiServiceAddress = isIPv6 ? "fd00:96::1" : "10.96.0.1";
export const podRange = isIPv6 ? "fd00:244::/64" : "10.244.0.0/24";
/** Of each family, the first one first. */
export const nodeAddresses = isDualStack ? [nodeAddress, "fd00:89::1"] : [nodeAddress];
export const podRanges = isDualStack ? [podRange, "fd00:244::/64"] : [podRange];
const serviceRange = isIPv6 ? "fd00:96::/112" : "10.96.0.0/16";
export const serviceRanges = isDualStack ? [serviceRange, "fd00:96::/112"] : [serviceRange];
/** Every private address of the family, as a partner allows it. */
export const privateRange = isIPv6 ? "fd00::/8" : "10.0.0.0/8";
export const clusterDomain = "cluster.local";

/** What gives the bridge an address of a family, and the node that family's default route. */
function addressScript(address: string): string {
  const [family, bits, forwarding, filter] = address.includes(":")
    ? (["-6", "64 nodad", "net/ipv6/conf/all/forwarding", "bridge-nf-call-ip6tables"] as const)
    : (["-4", "24", "net/ipv4/ip_forward", "bridge-nf-call-iptables"] as const);
  return `
ip ${family} address add ${address}/${bits} dev node0
ip link set node0 up
ip ${family} route add default dev node0
echo 1 > /proc/sys/${forwarding}
# Without it, the answer of a pod on the same bridge skips the translation back to the service's address.
echo 1 > /proc/sys/net/bridge/${filter}
`;
}

/**
 * What makes an empty network namespace one node's network, as a shell script. A bridge holds the addresses, because
 * not every kernel has dummy devices; the default route is what lets the node itself call addresses of services.
 */
export const networkScript = `
ip link set lo up
ip link add node0 type bridge
${nodeAddresses.map(addressScript).join("")}`;
