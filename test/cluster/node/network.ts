/** `IPv6` makes a node whose addresses, pods and services have that family only. */
export const familyVariable = "HELIOGRAPH_CLUSTER_FAMILY";
export const isIPv6 = process.env[familyVariable] === "IPv6";

/** The node's only address; pods, services and this machine's tests reach it, nothing else can. */
export const nodeAddress = isIPv6 ? "fd00:89::1" : "10.89.0.1";
/** The same, in a URL. */
export const nodeHost = isIPv6 ? `[${nodeAddress}]` : nodeAddress;
/** The name by which the node registers. */
export const nodeName = "node";
export const apiPort = 6443;
/** The API server as the service `kubernetes` shows it: the first address of the service range. */
export const apiServiceAddress = isIPv6 ? "fd00:96::1" : "10.96.0.1";
export const serviceRange = isIPv6 ? "fd00:96::/112" : "10.96.0.0/16";
export const podRange = isIPv6 ? "fd00:244::/64" : "10.244.0.0/24";
/** Every private address of the family, as a partner allows it. */
export const privateRange = isIPv6 ? "fd00::/8" : "10.0.0.0/8";
export const clusterDomain = "cluster.local";

const [family, forwarding, bridgeFilter] = isIPv6
  ? ["-6", "net/ipv6/conf/all/forwarding", "bridge-nf-call-ip6tables"]
  : ["-4", "net/ipv4/ip_forward", "bridge-nf-call-iptables"];

/**
 * What makes an empty network namespace one node's network, as a shell script. A bridge holds the address, because not
 * every kernel has dummy devices; the default route is what lets the node itself call addresses of services.
 */
export const networkScript = `
ip link set lo up
ip link add node0 type bridge
ip ${family} address add ${nodeAddress}/${isIPv6 ? "64 nodad" : "24"} dev node0
ip link set node0 up
ip ${family} route add default dev node0
echo 1 > /proc/sys/${forwarding}
# Without it, the answer of a pod on the same bridge skips the translation back to the service's address.
echo 1 > /proc/sys/net/bridge/${bridgeFilter}
`;
