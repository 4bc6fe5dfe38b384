import type { Flag } from "../command-line/flags.ts";
import type { Command } from "../command-line/command.ts";
import { adminPort, dataFlag, natsServer, port } from "./server-flags.ts";
import type { UpArguments } from "./run-up.ts";

const portMax = 65_535;
const prometheus: Flag = {
  name: "prometheus",
  value: "PATH",
  help: "Path of prometheus; defaults to the first on PATH, then the one built in the checkout.",
};

/** `heliograph up` */
export const upCommand: Command<UpArguments> = {
  summary: "Runs a demo: Heliograph with its example resources, two stores and two partners, until stopped.",
  flags: [
    { ...port, help: "Port of both APIs." },
    { ...adminPort, help: "Port of health, readiness and metrics." },
    { ...dataFlag, help: "Data folder, including the token.", standard: ".heliograph/up" },
    natsServer,
    prometheus,
  ],
  read: (given) => ({
    port: given.whole("port", 1, portMax),
    adminPort: given.whole("admin-port", 1, portMax),
    dataFolder: given.text("data"),
    natsServer: given.optional("nats-server"),
    prometheus: given.optional("prometheus"),
  }),
  run: async (args, { environment }) => (await import("./run-up.ts")).runUp(args, environment),
};
