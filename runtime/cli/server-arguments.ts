import { UsageError, type Given } from "../../command-line/given.ts";

/** Arguments of every command that serves. */
export interface ServerArguments {
  readonly port: number;
  readonly adminPort: number;
  readonly host: string;
  readonly settingsFile?: string;
  readonly drainMs: number;
  readonly logLevel: string;
}

const portMax = 65_535;
const drainSecondsMax = 3600;

/** @throws UsageError */
export function serverArguments(given: Given): ServerArguments {
  const settingsFile = given.optional("settings");
  return {
    port: given.whole("port", 0, portMax),
    adminPort: given.whole("admin-port", 0, portMax),
    host: given.text("host"),
    drainMs: given.whole("drain-seconds", 0, drainSecondsMax) * 1000,
    logLevel: given.logLevel("log-level"),
    ...(settingsFile === undefined ? {} : { settingsFile }),
  };
}

/** The URL itself, when it is one of NATS. @throws UsageError */
export function natsUrlOf(text: string): string {
  const url = URL.parse(text);
  if (url !== null && ["nats:", "tls:"].includes(url.protocol) && url.hostname !== "") return text;
  throw new UsageError("--nats is a URL such as nats://127.0.0.1:4222.");
}
