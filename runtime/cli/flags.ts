import type { Flag } from "../../command-line/flag.ts";

const data: Flag = {
  name: "data",
  value: "DIR",
  help: "Folder of stored data: JetStream's files and the key of the development issuer.",
  standard: ".heliograph",
};

const port: Flag = { name: "port", value: "PORT", help: "Port of both APIs; 0 picks a free one.", standard: "8080" };
const adminPort: Flag = {
  name: "admin-port",
  value: "PORT",
  help: "Port of health, readiness and metrics; 0 picks a free one.",
  standard: "9090",
};
const host: Flag = {
  name: "host",
  value: "ADDRESS",
  help: "Address of both ports.",
  standard: "127.0.0.1",
};
const natsServer: Flag = {
  name: "nats-server",
  value: "PATH",
  help: "The nats-server program to start; without it, the first on PATH, else the one that a checkout built.",
};
const settings: Flag = {
  name: "settings",
  value: "FILE",
  help: "Installation settings; without it the defaults apply.",
};
const drainSeconds: Flag = {
  name: "drain-seconds",
  value: "SECONDS",
  help: "Time for running requests and attempts to finish.",
  standard: "20",
};
const logLevel: Flag = {
  name: "log-level",
  value: "LEVEL",
  help: "Least level that is logged: debug, info, warn or error.",
  standard: "info",
};

export const runFlags = [
  port,
  adminPort,
  host,
  data,
  { name: "nats", value: "URL", help: "NATS to use instead of an own nats-server." },
  natsServer,
  settings,
  drainSeconds,
  logLevel,
] as const satisfies readonly Flag[];

export const runtimeFlags = [
  {
    name: "config",
    value: "WHERE",
    help: "The configuration: `kubernetes` for the Secrets that the operator writes, or a folder as of `run`.",
    required: true,
  },
  {
    name: "namespace",
    value: "NAMESPACE",
    help: "Namespace of the Secrets; without it the pod's own, or that of the kubeconfig's context.",
  },
  { name: "config-prefix", value: "PREFIX", help: "First part of the Secrets' names.", standard: "heliograph" },
  { name: "shards", value: "COUNT", help: "Secrets that hold resources; the same as the operator's.", standard: "32" },
  {
    name: "key-shards",
    value: "COUNT",
    help: "Secrets that hold key material; the same as the operator's.",
    standard: "8",
  },
  {
    name: "kubeconfig",
    value: "FILE",
    help: "Kubeconfig of the API server; without it the files of KUBECONFIG, else the pod's service account.",
  },
  {
    name: "config-cache",
    value: "DIR",
    help:
      "Folder of copies of the Secrets, signing keys included, for a start without the API server; without it there " +
      "are no copies.",
  },
  {
    name: "nats",
    value: "URL",
    help: "NATS to use, or `embedded` for an own nats-server.",
    required: true,
  },
  { name: "nats-ca", value: "FILE", help: "Certificate authorities of NATS." },
  { name: "nats-cert", value: "FILE", help: "Client certificate for NATS." },
  { name: "nats-key", value: "FILE", help: "Key of that certificate." },
  natsServer,
  { ...data, help: "Folder of the embedded nats-server's files." },
  port,
  adminPort,
  { ...host, standard: "0.0.0.0" },
  settings,
  {
    name: "pod-name",
    value: "NAME",
    help: "Name of this pod, unique among those that share NATS; without it the name of the host.",
  },
  {
    name: "unready-seconds",
    value: "SECONDS",
    help:
      "Time after a signal in which requests are still answered while `/readyz` answers 503, so that load balancers " +
      "notice; the drain follows.",
    standard: "5",
  },
  drainSeconds,
  logLevel,
] as const satisfies readonly Flag[];

export const validateFlags = [] as const satisfies readonly Flag[];

export const devTokenFlags = [
  {
    name: "tenant",
    value: "TENANT",
    help: "A tenant of the token; `*` is every tenant, `-` events without one.",
    multiple: true,
    required: true,
  },
  {
    name: "scope",
    value: "SCOPE",
    help: "A scope of the token, for example events:write.",
    multiple: true,
    required: true,
  },
  { name: "client", value: "CLIENT", help: "Client of the token.", standard: "dev" },
  { name: "role", value: "ROLE", help: "A role of the token.", multiple: true },
  { name: "region", value: "REGION", help: "A region of the token; without one, every region.", multiple: true },
  {
    name: "environment",
    value: "ENVIRONMENT",
    help: "An environment of the token; without one, every environment.",
    multiple: true,
  },
  { name: "metric", value: "METRIC", help: "A metric of the token; without one, every metric.", multiple: true },
  {
    name: "partner",
    value: "NAMESPACE/NAME",
    help: "A webhook partner of the token; without one, every partner.",
    multiple: true,
  },
  {
    name: "ttl",
    value: "DURATION",
    help: "Lifetime of the token, for example 30m or 12h; at most 30d.",
    standard: "1h",
  },
  data,
] as const satisfies readonly Flag[];
