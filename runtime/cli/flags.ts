import type { Flag } from "../../command-line/flag.ts";

/** Flags of several commands. */
export const dataFlag: Flag = {
  name: "data",
  value: "DIR",
  help: "Folder of stored data: JetStream's files and the key of the development issuer.",
  standard: ".heliograph",
};

export const natsTlsFlags = [
  { name: "nats-ca", value: "FILE", help: "Certificate authorities of NATS." },
  { name: "nats-cert", value: "FILE", help: "Client certificate for NATS." },
  { name: "nats-key", value: "FILE", help: "Key of that certificate." },
] as const satisfies readonly Flag[];
