import { listAt, type Path, textAt, valueAt } from "../store/store-files.ts";

/** Everything that one scrape reads. Absent parts have no series. */
export interface ServerReading {
  /** `/varz`: the server. */
  readonly varz?: unknown;
  /** `/jsz?streams=true&config=true`: JetStream with its streams. */
  readonly jsz?: unknown;
  /** The volume of the stored data, in bytes. */
  readonly volume?: { readonly sizeBytes: number; readonly availableBytes: number };
  /** Whether JetStream runs in the server. */
  readonly isJetStreamOn?: boolean;
  /** Number of streams whose files are gone from the volume. */
  readonly streamsWithoutFiles?: number;
  /** Whether a certificate on disk is newer than the loaded one. */
  readonly isReloadPending: boolean;
  /** Signals sent since the start of this program. */
  readonly reloadSignals: number;
}

/** A series of one number in a document: name, kind, help, path. */
type Row = readonly [name: string, kind: Family["kind"], help: string, path: Path];

const varzRows: readonly Row[] = [
  ["memory_bytes", "gauge", "Resident memory of nats-server", ["mem"]],
  ["memory_limit_bytes", "gauge", "GOMEMLIMIT of nats-server: nine tenths of the container's limit", ["gomemlimit"]],
  ["connections", "gauge", "Connected clients", ["connections"]],
  ["routes", "gauge", "Connections to other servers of the cluster", ["routes"]],
  ["slow_consumers_total", "counter", "Clients disconnected for reading too slowly", ["slow_consumers"]],
  ["start_time_seconds", "gauge", "Start of nats-server, Unix time", ["start"]],
  ["config_load_time_seconds", "gauge", "Last load of configuration and certificates, Unix time", ["config_load_time"]],
];

const jszRows: readonly Row[] = [
  ["jetstream_storage_bytes", "gauge", "Bytes in JetStream's files", ["storage"]],
  ["jetstream_storage_limit_bytes", "gauge", "Bound on JetStream's files (max_file_store)", ["config", "max_storage"]],
  ["jetstream_storage_reserved_bytes", "gauge", "Sizes of all streams with a bound", ["reserved_storage"]],
  ["jetstream_memory_bytes", "gauge", "Bytes of JetStream's messages in memory", ["memory"]],
  ["jetstream_memory_limit_bytes", "gauge", "Bound on messages in memory (max_memory_store)", ["config", "max_memory"]],
  ["jetstream_consumers", "gauge", "Consumers of all streams", ["consumers"]],
  ["jetstream_api_requests_total", "counter", "Requests to the API of JetStream", ["api", "total"]],
  ["jetstream_api_errors_total", "counter", "Rejected requests to the JetStream API", ["api", "errors"]],
];

const streamRows: readonly Row[] = [
  ["stream_messages", "gauge", "Messages of a stream", ["state", "messages"]],
  ["stream_bytes", "gauge", "Bytes of a stream", ["state", "bytes"]],
  ["stream_limit_bytes", "gauge", "Bound on the bytes of a stream (max_bytes)", ["config", "max_bytes"]],
  ["stream_consumers", "gauge", "Consumers of a stream", ["state", "consumer_count"]],
];

/** One value of a metric. */
interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** A metric with its samples. One without samples is not written. */
interface Family {
  readonly name: string;
  readonly kind: "gauge" | "counter";
  readonly help: string;
  readonly samples: readonly Sample[];
}

/** Content type of {@link exposition}. */
export const expositionType = "text/plain; version=0.0.4; charset=utf-8";

/** Metrics of one nats-server in Prometheus's text format. */
export function serverMetrics(reading: ServerReading): string {
  const { varz, jsz, volume } = reading;
  return exposition(
    [
      one("up", "gauge", "Whether the monitoring port of nats-server responds", varz === undefined ? 0 : 1),
      one(
        "reload_pending",
        "gauge",
        "Whether nats-server has not loaded a newer certificate",
        reading.isReloadPending ? 1 : 0,
      ),
      one("reload_signals_total", "counter", "Signals to load certificates again", reading.reloadSignals),
      one(
        "jetstream_enabled",
        "gauge",
        "Whether JetStream runs; nats-server disables it when it cannot write",
        reading.isJetStreamOn === undefined ? undefined : Number(reading.isJetStreamOn),
      ),
      one(
        "streams_without_files",
        "gauge",
        "Streams whose files are gone from the volume; a restart of nats-server loses them",
        reading.streamsWithoutFiles,
      ),
      one("volume_bytes", "gauge", "Size of the volume of JetStream", volume?.sizeBytes),
      one("volume_available_bytes", "gauge", "Free bytes of the volume of JetStream", volume?.availableBytes),
      ...varzRows.map(([name, kind, help, path]) => one(name, kind, help, numberAt(varz, path))),
      ...trafficOf(varz),
      certificatesOf(varz),
      ...jszRows.map(([name, kind, help, path]) => one(name, kind, help, numberAt(jsz, path))),
      leaderOf(jsz),
      ...streamFamilies(jsz),
    ].map((family) => ({ ...family, name: `heliograph_nats_${family.name}` })),
  );
}

function one(name: string, kind: Family["kind"], help: string, value: number | undefined): Family {
  return { name, kind, help, samples: value === undefined ? [] : [{ labels: {}, value }] };
}

function trafficOf(varz: unknown): readonly Family[] {
  const both = (name: string, help: string, suffix: string): Family => ({
    name,
    kind: "counter",
    help,
    samples: ["in", "out"].flatMap((direction) => sample({ direction }, numberAt(varz, [`${direction}_${suffix}`]))),
  });
  return [
    both("messages_total", "Messages from and to clients and servers", "msgs"),
    both("bytes_total", "Bytes from and to clients and servers", "bytes"),
  ];
}

function certificatesOf(varz: unknown): Family {
  return {
    name: "certificate_not_after_seconds",
    kind: "gauge",
    help: "End of the loaded certificate, Unix time",
    samples: [
      ...sample({ listener: "client" }, numberAt(varz, ["tls_cert_not_after"])),
      ...sample({ listener: "cluster" }, numberAt(varz, ["cluster", "tls_cert_not_after"])),
    ],
  };
}

/** Only servers of a cluster have a leader. */
function leaderOf(jsz: unknown): Family {
  const cluster = valueAt(jsz, ["meta_cluster"]);
  const leader = valueAt(cluster, ["leader"]);
  const isKnown = typeof leader === "string" && leader !== "";
  const value = cluster === undefined ? undefined : Number(isKnown);
  return one("cluster_leader_known", "gauge", "Whether the server knows the leader of its cluster", value);
}

function streamFamilies(jsz: unknown): readonly Family[] {
  const streams = listAt(jsz, ["account_details"]).flatMap((account) => listAt(account, ["stream_detail"]));
  return streamRows.map(([name, kind, help, path]) => ({
    name,
    kind,
    help,
    samples: streams.flatMap((stream) => sample({ stream: nameOf(stream) }, boundOf(numberAt(stream, path)))),
  }));
}

const nameOf = (stream: unknown): string => textAt(stream, ["name"]);

/** -1 means without a bound, which has no series. */
const boundOf = (value: number | undefined): number | undefined => (value === -1 ? undefined : value);

function sample(labels: Sample["labels"], value: number | undefined): readonly Sample[] {
  return value === undefined ? [] : [{ labels, value }];
}

/** A number, or a time as seconds since 1970. Undefined for anything else. */
function numberAt(document: unknown, path: Path): number | undefined {
  const value = valueAt(document, path);
  if (typeof value === "number") return value;
  const timeMs = typeof value === "string" ? Date.parse(value) : Number.NaN;
  return Number.isNaN(timeMs) ? undefined : timeMs / 1_000;
}

/** Families in Prometheus's text format. This program holds no metrics library, which would double its memory. */
export function exposition(families: readonly Family[]): string {
  return families
    .filter(({ samples }) => samples.length > 0)
    .map(familyText)
    .join("");
}

function familyText({ name, kind, help, samples }: Family): string {
  const lines = samples.map(({ labels, value }) => `${name}${labelText(labels)} ${value}`);
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${kind}`, ...lines, ""].join("\n");
}

function labelText(labels: Sample["labels"]): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value)}"`);
  return pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
}

function escaped(value: string): string {
  return value
    .replaceAll("\\", String.raw`\\`)
    .replaceAll('"', String.raw`\"`)
    .replaceAll("\n", String.raw`\n`);
}
