#!/usr/bin/env node
import { parseArgs } from "node:util";
import { pino } from "pino";
import { limitRepeatedLines } from "./command-line/repeated-lines.ts";
import { startMonitor } from "../runtime/nats/monitor/monitor.ts";

const { values } = parseArgs({
  options: {
    monitor: { type: "string", default: "http://127.0.0.1:8222" },
    tls: { type: "string", default: "/etc/nats-tls" },
    // The folder of passwords; without it, the server's users are not written.
    auth: { type: "string" },
    users: { type: "string", default: "/var/run/nats/users.conf" },
    "pid-file": { type: "string", default: "/var/run/nats/nats.pid" },
    data: { type: "string", default: "/data" },
    port: { type: "string", default: "7777" },
    "catch-up-seconds": { type: "string", default: "0" },
  },
});
const secondMs = 1_000;
const { hooks } = limitRepeatedLines();
const log = pino({ name: "nats-monitor", hooks }, pino.destination({ dest: 2, sync: true }));
const monitor = await startMonitor(
  {
    monitor: values.monitor,
    tlsFolder: values.tls,
    pidFile: values["pid-file"],
    ...(values.auth === undefined ? {} : { users: { authFolder: values.auth, usersFile: values.users } }),
    dataFolder: values.data,
    port: Number(values.port),
    catchUpMs: Number(values["catch-up-seconds"]) * secondMs,
  },
  log,
);
log.info({ port: monitor.port }, "monitor started");
for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, () => void monitor.stop());
