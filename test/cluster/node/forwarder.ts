import { Resolver } from "node:dns";
import { connect, type LookupFunction, Server, type Socket } from "node:net";
import { nodeAddress } from "./network.ts";

/**
 * A program that is started in a node's network with a socket that listens on this machine's: a socket stays in the
 * network it was made in, so that this one process has a foot in both. It takes the socket as its first message.
 */
function main(host: string, port: number, lifetime: string): void {
  process.on("message", (_word: unknown, server: unknown) => {
    if (!(server instanceof Server)) return;
    server.on("connection", (client) => join(client, connect({ host, port, lookup })));
    process.send?.("listening");
  });
  process.on("disconnect", () => {
    if (lifetime === "starter") process.exit();
  });
}

function join(one: Socket, other: Socket): void {
  for (const [from, to] of [[one, other], [other, one]] as const) {
    from.setNoDelay(true);
    from.on("error", () => to.destroy());
    from.on("close", () => to.destroy());
    from.pipe(to);
  }
}

/** Asks the cluster's DNS, for names of services. */
const lookup: LookupFunction = (name, _options, callback) => {
  const resolver = new Resolver();
  resolver.setServers([nodeAddress]);
  resolver.resolve4(name, (error, addresses) => callback(error, addresses.map((address) => ({ address, family: 4 }))));
};

if (import.meta.main) {
  const [host = "", port = "", lifetime = ""] = process.argv.slice(2);
  main(host, Number(port), lifetime);
}
