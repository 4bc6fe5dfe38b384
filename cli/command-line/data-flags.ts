import type { Flag } from "./flag.ts";

/** Flags of several commands. */
export const dataFlag: Flag = {
  name: "data",
  value: "DIR",
  help: "Folder of stored data: JetStream's files and the key of the development issuer.",
  standard: ".heliograph",
};

export const natsFlags = [
  {
    name: "nats-auth",
    value: "PATH",
    help:
      "Credentials of NATS, read again when they change: a `.creds` file, or a folder with the files `username` and " +
      "`password`, or `token`, or `nkey`, or `jwt` and `nkey`, or one `.creds` file.",
  },
  { name: "nats-ca", value: "FILE", help: "Certificate authorities of NATS." },
  { name: "nats-cert", value: "FILE", help: "Client certificate for NATS." },
  { name: "nats-key", value: "FILE", help: "Key of that certificate." },
] as const satisfies readonly Flag[];
