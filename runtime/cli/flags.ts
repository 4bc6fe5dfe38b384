/** One flag of a command. Each can also be given as an environment variable; the flag wins. */
export interface Flag {
  /** Without the dashes. */
  readonly name: string;
  /** What stands for the value in the help. */
  readonly value: string;
  readonly help: string;
  /** Whether it may be given several times; in the environment the values are separated by commas. */
  readonly multiple?: boolean;
  readonly required?: boolean;
  /** Text of the default; absent when there is none. */
  readonly standard?: string;
}

const data: Flag = {
  name: "data",
  value: "DIR",
  help: "Folder of everything that is kept: JetStream's files and the key of the development issuer.",
  standard: ".heliograph",
};

export const runFlags = [
  { name: "port", value: "PORT", help: "Port of both APIs; 0 picks a free one.", standard: "8080" },
  { name: "admin-port", value: "PORT", help: "Port of health, readiness and metrics; 0 picks a free one.", standard: "9090" },
  { name: "host", value: "ADDRESS", help: "Address that both ports are opened on.", standard: "127.0.0.1" },
  data,
  { name: "nats", value: "URL", help: "NATS to use, instead of a nats-server of the program's own." },
  { name: "nats-server", value: "PATH", help: "The nats-server program to start; without it, the first on PATH." },
  { name: "settings", value: "FILE", help: "Installation settings; without it the defaults hold." },
  { name: "drain-seconds", value: "SECONDS", help: "How long requests and attempts under way may take to end.", standard: "20" },
  { name: "log-level", value: "LEVEL", help: "Least level that is logged: debug, info, warn or error.", standard: "info" },
] as const satisfies readonly Flag[];

export const validateFlags = [] as const satisfies readonly Flag[];

export const devTokenFlags = [
  { name: "tenant", value: "TENANT", help: "A tenant of the token; `*` is every tenant, `-` events without one.", multiple: true, required: true },
  { name: "scope", value: "SCOPE", help: "A scope of the token, for example events:write.", multiple: true, required: true },
  { name: "client", value: "CLIENT", help: "Client that the token is for.", standard: "dev" },
  { name: "role", value: "ROLE", help: "A role of the token.", multiple: true },
  { name: "region", value: "REGION", help: "A region of the token; without one, every region.", multiple: true },
  { name: "environment", value: "ENVIRONMENT", help: "An environment of the token; without one, every environment.", multiple: true },
  { name: "metric", value: "METRIC", help: "A metric of the token; without one, every metric.", multiple: true },
  { name: "ttl", value: "DURATION", help: "How long the token is valid, for example 30m or 12h; at most 30d.", standard: "1h" },
  data,
] as const satisfies readonly Flag[];

/** `admin-port` → `HELIOGRAPH_ADMIN_PORT` */
export function variableOf(flag: Flag): string {
  return `HELIOGRAPH_${flag.name.toUpperCase().replaceAll("-", "_")}`;
}
