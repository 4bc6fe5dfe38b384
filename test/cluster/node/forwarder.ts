import { Resolver } from "node:dns";
import { connect, type LookupFunction, Server } from "node:net";
import { joinSockets } from "./join-sockets.ts";
import { isIPv6, nodeAddress } from "./network.ts";

/**
 * A program that is started in a node's network with a socket that listens on this machine's: a socket stays in the
 * network it was made in, so that this one process has a foot in both. It takes the socket as its first message.
 */
function main(host: string, port: number, lifetime: string): void {
  process.on("message", (_word: unknown, server: unknown) => {
    if (!(server instanceof Server)) return;
    server.on("connection", (client) => joinSockets(client, connect({ host, port, lookup })));
    process.send?.("listening");
  });
  process.on("disconnect", () => {
    if (lifetime === "starter") process.exit();
  });
}

/** Asks the cluster's DNS, for names of services. */
const lookup: LookupFunction = (name, _options, callback) => {
  const resolver = new Resolver();
  resolver.setServers([nodeAddress]);
  const answer = (error: Error | null, addresses: readonly string[]): void =>
    callback(error, error ? [] : addresses.map((address) => ({ address, family: isIPv6 ? 6 : 4 })));
  if (isIPv6) resolver.resolve6(name, answer);
  else resolver.resolve4(name, answer);
};

if (import.meta.main) {
  const [host = "", port = "", lifetime = ""] = process.argv.slice(2);
  main(host, Number(port), lifetime);
}
