import type { Flag } from "../command-line/flag.ts";

export const port: Flag = {
  name: "port",
  value: "PORT",
  help: "Port of both APIs; 0 picks a free one.",
  standard: "8080",
};
export const adminPort: Flag = {
  name: "admin-port",
  value: "PORT",
  help: "Port of health, readiness and metrics; 0 picks a free one.",
  standard: "9090",
};
export const host: Flag = {
  name: "host",
  value: "ADDRESS",
  help: "Address of both ports.",
  standard: "127.0.0.1",
};
export const natsServer: Flag = {
  name: "nats-server",
  value: "PATH",
  help: "The nats-server program to start; without it, the first on PATH, else the one that a checkout built.",
};
export const settings: Flag = {
  name: "settings",
  value: "FILE",
  help: "Installation settings; without it the defaults apply.",
};
export const drainSeconds: Flag = {
  name: "drain-seconds",
  value: "SECONDS",
  help: "Time for running requests and attempts to finish.",
  standard: "20",
};
export const logLevel: Flag = {
  name: "log-level",
  value: "LEVEL",
  help: "Least level that is logged: debug, info, warn or error.",
  standard: "info",
};

export const processes: Flag = {
  name: "processes",
  value: "COUNT",
  help: "Processes that serve the port, at most 64; `auto` is one per core, at most 8.",
  standard: "auto",
};
export const memory: Flag = {
  name: "memory",
  value: "SIZE",
  help:
    "Memory that the heap and the caches are sized for, such as 512Mi or 1Gi, over all processes; `auto` is the " +
    "limit of the container, without one 512Mi for each process.",
  standard: "auto",
};

/** The variables have the names of OpenTelemetry's specification, "Environment Variable Specification". */
export const tracingFlags = [
  {
    name: "otlp-endpoint",
    variable: "OTEL_EXPORTER_OTLP_ENDPOINT",
    value: "URL",
    help: "Collector that takes traces by OTLP over HTTP, such as http://collector:4318; without it there are none.",
  },
  {
    name: "trace-ratio",
    variable: "OTEL_TRACES_SAMPLER_ARG",
    value: "RATIO",
    help: "Share of the traces that are exported, from 0 to 1; a caller with a `traceparent` decides for its trace.",
    standard: "1",
  },
  {
    name: "trace-service",
    variable: "OTEL_SERVICE_NAME",
    value: "NAME",
    help: "Name of this program in traces.",
    standard: "heliograph",
  },
] as const satisfies readonly Flag[];
