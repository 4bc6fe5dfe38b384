/** The node's only address; pods, services and this machine's tests reach it, nothing else can. */
export const nodeAddress = "10.89.0.1";
/** The name by which the node registers. */
export const nodeName = "node";
export const apiPort = 6443;
/** The API server as the service `kubernetes` shows it: the first address of the service range. */
export const apiServiceAddress = "10.96.0.1";
export const serviceRange = "10.96.0.0/16";
export const podRange = "10.244.0.0/24";
export const clusterDomain = "cluster.local";

/**
 * What makes an empty network namespace one node's network, as a shell script. A bridge holds the address, because not
 * every kernel has dummy devices; the default route is what lets the node itself call addresses of services.
 */
export const networkScript = `
ip link set lo up
ip link add node0 type bridge
ip address add ${nodeAddress}/24 dev node0
ip link set node0 up
ip route add default dev node0
echo 1 > /proc/sys/net/ipv4/ip_forward
# Without it, the answer of a pod on the same bridge skips the translation back to the service's address.
echo 1 > /proc/sys/net/bridge/bridge-nf-call-iptables
`;
