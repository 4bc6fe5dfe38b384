import { mebibyteBytes, memoryBytesMin } from "../../limits/memory-plan.ts";
import { type NatsAccess, InvalidNatsUrl, natsAccessOf } from "../../runtime/nats/connection/nats-access.ts";
import type { TracingOptions } from "../../runtime/program/program-plan.ts";
import { type Flag, type Given, UsageError } from "../command-line/flags.ts";

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
  help: "Listen address of both ports.",
  standard: "127.0.0.1",
};
export const natsServer: Flag = {
  name: "nats-server",
  value: "PATH",
  help: "Path of nats-server; defaults to the first on PATH, then the one built in the checkout.",
};
export const settings: Flag = {
  name: "settings",
  value: "FILE",
  help: "Installation settings; defaults apply without a file.",
};
export const drainSeconds: Flag = {
  name: "drain-seconds",
  value: "SECONDS",
  help: "Time for requests and attempts in progress to finish.",
  standard: "20",
};
export const logLevel: Flag = {
  name: "log-level",
  value: "LEVEL",
  help: "Minimum log level: debug, info, warn or error.",
  standard: "info",
};

/** Accepted for one release: docs/decisions/0268-one-process-per-pod.md. */
export const processes: Flag = {
  name: "processes",
  value: "COUNT",
  help: "Deprecated: accepted and ignored, because a program is one process; run more pods or programs instead.",
};
export const memory: Flag = {
  name: "memory",
  value: "SIZE",
  help:
    "Memory to size the heap and caches for, such as 512Mi or 1Gi; `auto` is the limit of the container, " +
    "without one 512Mi.",
  standard: "auto",
};

/** The variables have the names of OpenTelemetry's specification, "Environment Variable Specification". */
export const tracingFlags = [
  {
    name: "otlp-endpoint",
    variable: "OTEL_EXPORTER_OTLP_ENDPOINT",
    value: "URL",
    help: "OTLP/HTTP collector for traces, such as http://collector:4318; tracing is off by default.",
  },
  {
    name: "trace-ratio",
    variable: "OTEL_TRACES_SAMPLER_ARG",
    value: "RATIO",
    help: "Ratio of traces to export, from 0 to 1; a `traceparent` sent by the caller takes precedence.",
    standard: "1",
  },
  {
    name: "trace-service",
    variable: "OTEL_SERVICE_NAME",
    value: "NAME",
    help: "Service name in traces.",
    standard: "heliograph",
  },
] as const satisfies readonly Flag[];

/** Arguments of every command that serves. */
export interface ServerArguments {
  readonly port: number;
  readonly adminPort: number;
  readonly host: string;
  readonly settingsFile?: string;
  readonly drainMs: number;
  readonly logLevel: string;
  /** Value of the deprecated `--processes`, which has no effect. */
  readonly processes?: string;
  /** @default the memory of the container or the machine decides */
  readonly memoryBytes?: number;
  /** Export of traces. @default none */
  readonly tracing?: TracingOptions;
}

const portMax = 65_535;
const drainSecondsMax = 3600;
const processesMax = 64;

/** Flags of several commands. */
export const dataFlag: Flag = {
  name: "data",
  value: "DIR",
  help: "Data folder: JetStream files and the key of the development issuer.",
  standard: ".heliograph",
};

export const natsFlags = [
  {
    name: "nats-auth",
    value: "PATH",
    help:
      "NATS credentials, reloaded when they change: a `.creds` file, or a folder with a `.creds` file or the " +
      "files `username` and `password`, `token`, `nkey`, or `jwt` and `nkey`.",
  },
  { name: "nats-ca", value: "FILE", help: "CA certificates to verify NATS." },
  { name: "nats-cert", value: "FILE", help: "Client certificate for NATS." },
  { name: "nats-key", value: "FILE", help: "Private key of the client certificate." },
] as const satisfies readonly Flag[];

/** @throws UsageError */
export function serverArguments(given: Given): ServerArguments {
  const settingsFile = given.optional("settings");
  const memoryBytes = memoryBytesOf(given.text("memory"));
  const tracing = tracingOf(given);
  const processesText = processesOf(given);
  return {
    port: given.whole("port", 0, portMax),
    adminPort: given.whole("admin-port", 0, portMax),
    host: given.text("host"),
    drainMs: given.whole("drain-seconds", 0, drainSecondsMax) * 1000,
    logLevel: given.logLevel("log-level"),
    ...(processesText === undefined ? {} : { processes: processesText }),
    ...(settingsFile === undefined ? {} : { settingsFile }),
    ...(memoryBytes === undefined ? {} : { memoryBytes }),
    ...(tracing === undefined ? {} : { tracing }),
  };
}

/** @throws UsageError */
function processesOf(given: Given): string | undefined {
  const text = given.optional("processes");
  const count = /^\d{1,2}$/u.test(text ?? "") ? Number(text) : 0;
  if (text === undefined || text === "auto" || (count >= 1 && count <= processesMax)) return text;
  throw new UsageError(`--processes must be an integer from 1 to ${processesMax} or auto, not ${text}.`);
}

const units: Readonly<Record<string, number>> = { Mi: mebibyteBytes, Gi: 1024 * mebibyteBytes };
const mebibytesMin = memoryBytesMin / mebibyteBytes;
const gibibytesMax = 64;

/** Undefined for `auto`. @throws UsageError */
function memoryBytesOf(text: string): number | undefined {
  if (text === "auto") return undefined;
  const { count, unit = "" } = /^(?<count>\d{1,6})(?<unit>Mi|Gi)$/u.exec(text)?.groups ?? {};
  const bytes = Number(count) * (units[unit] ?? Number.NaN);
  if (bytes >= memoryBytesMin && bytes <= gibibytesMax * 1024 * mebibyteBytes) return bytes;
  throw new UsageError(
    `--memory must be auto or a size such as 512Mi or 1Gi, from ${mebibytesMin}Mi to ${gibibytesMax}Gi, not ${text}.`,
  );
}

/** Undefined without a collector. @throws UsageError */
function tracingOf(given: Given): TracingOptions | undefined {
  const endpoint = given.optional("otlp-endpoint");
  if (endpoint === undefined) return undefined;
  const url = URL.parse(endpoint);
  if (url === null || !["http:", "https:"].includes(url.protocol) || url.search !== "" || url.hash !== "")
    throw new UsageError("--otlp-endpoint must be the base URL of a collector such as http://collector:4318.");
  const ratio = given.text("trace-ratio");
  const isRatio = /^\d(?:\.\d{1,9})?$/u.test(ratio) && Number(ratio) <= 1;
  if (!isRatio) throw new UsageError(`--trace-ratio must be a number from 0 to 1, not ${ratio}.`);
  return { endpoint, ratio: Number(ratio), service: given.text("trace-service") };
}

/** Access to the NATS of `--nats`, with the credentials and certificates of its flags. @throws UsageError */
export function natsAccessOfFlags(url: string, given: Given): NatsAccess {
  const access = accessOfUrl(url);
  const auth = given.optional("nats-auth");
  if (auth !== undefined && (access.user ?? access.token) !== undefined)
    throw new UsageError("NATS credentials must be in --nats-auth or in the URL of --nats, not both.");
  return { ...access, ...(auth === undefined ? {} : { auth }), ...natsTlsOf(given) };
}

function accessOfUrl(url: string): NatsAccess {
  try {
    return natsAccessOf(url);
  } catch (cause) {
    if (cause instanceof InvalidNatsUrl) throw new UsageError(`--nats is ${cause.message}.`, { cause });
    throw cause;
  }
}

/** @throws UsageError for a certificate without its key */
function natsTlsOf(given: Given): Pick<NatsAccess, "tls"> {
  const [caFile, certFile, keyFile] = ["nats-ca", "nats-cert", "nats-key"].map((flag) => given.optional(flag));
  if ((certFile === undefined) !== (keyFile === undefined))
    throw new UsageError("--nats-cert and --nats-key must be given together.");
  const tls = {
    ...(caFile === undefined ? {} : { caFile }),
    ...(certFile === undefined ? {} : { certFile }),
    ...(keyFile === undefined ? {} : { keyFile }),
  };
  return Object.keys(tls).length === 0 ? {} : { tls };
}
