import type { Flag } from "../command-line/flags.ts";
import type { Command } from "../command-line/command.ts";
import { adminPort, dataFlag, natsServer, port } from "./server-flags.ts";
import type { UpArguments } from "./run-up.ts";

const portMax = 65_535;
const prometheus: Flag = {
  name: "prometheus",
  value: "PATH",
  help: "The prometheus program of the stores; without it, the first on PATH, else the one that a checkout built.",
};

/** `heliograph up` */
export const upCommand: Command<UpArguments> = {
  summary: "Runs a demonstration: the product on its examples, with two stores and two partners, until a signal.",
  flags: [
    { ...port, help: "Port of both APIs." },
    { ...adminPort, help: "Port of health, readiness and metrics." },
    { ...dataFlag, help: "Folder of everything that is stored, the token among it.", standard: ".heliograph/up" },
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
