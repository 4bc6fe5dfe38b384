/** One native histogram, cumulative since its series began. Source: Prometheus, native histograms specification. */
export interface WrittenHistogram {
  /** -4 to 8 for exponential buckets; `custom` for buckets between bounds of one's own. */
  readonly schema: number | "custom";
  /** Finite upper bounds, ascending; of custom buckets only. */
  readonly bounds?: readonly number[];
  readonly sum: number;
  /** Observations in the zero bucket. */
  readonly zeroCount: number;
  readonly zeroThreshold: number;
  /** Observations by the index of their bucket. */
  readonly positive: ReadonlyMap<number, number>;
  readonly negative: ReadonlyMap<number, number>;
}

/** A sample as it is written; `stale` says that the series has ended for now. */
export interface WrittenSample {
  readonly ms: number;
  readonly value: number | "stale" | WrittenHistogram;
  readonly exemplar?: WrittenExemplar | undefined;
}

/** An exemplar of the same time as its sample. */
export interface WrittenExemplar {
  readonly traceId: string;
  readonly value: number;
}

/** A series as it is written. */
export interface WrittenSeries {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly samples: readonly WrittenSample[];
}

/** Samples of one request. */
const samplesPerRequest = 20_000;
const staleNaN = 0x7ff0000000000002n;
const customSchema = -53;

/**
 * Writes series to a server that takes remote write 1.0, oldest first over all of them, as scrapes come.
 *
 * @throws Error with the server's words when it refuses
 */
export async function remoteWrite(url: string, series: readonly WrittenSeries[]): Promise<void> {
  const rows = series
    .flatMap((one) => one.samples.map((sample) => ({ one, sample })))
    .sort((a, b) => a.sample.ms - b.sample.ms);
  for (let from = 0; from < rows.length; from += samplesPerRequest) {
    const bySeries = Map.groupBy(rows.slice(from, from + samplesPerRequest), ({ one }) => one);
    const message = [...bySeries].map(([one, own]) =>
      field(
        1,
        timeSeries(
          one,
          own.map(({ sample }) => sample),
        ),
      ),
    );
    await send(url, Buffer.concat(message));
  }
}

async function send(url: string, message: Buffer): Promise<void> {
  const response = await fetch(`${url}/api/v1/write`, {
    method: "POST",
    headers: {
      "content-type": "application/x-protobuf",
      "content-encoding": "snappy",
      "x-prometheus-remote-write-version": "0.1.0",
    },
    body: new Uint8Array(snappyLiterals(message)),
  });
  if (!response.ok) throw new Error(`remote write was answered ${response.status}: ${await response.text()}`);
  await response.arrayBuffer();
}

/** Source: `prompb/types.proto`. */
function timeSeries({ name, labels }: WrittenSeries, samples: readonly WrittenSample[]): Buffer {
  const pairs = Object.entries({ ...labels, __name__: name }).sort(([a], [b]) => (a < b ? -1 : 1));
  return Buffer.concat([
    ...pairs.map(([label, value]) =>
      field(1, Buffer.concat([field(1, Buffer.from(label)), field(2, Buffer.from(value))])),
    ),
    ...samples.map(({ ms, value }) =>
      typeof value === "object"
        ? field(4, histogram(value, ms))
        : field(2, Buffer.concat([double(1, value), varintField(2, BigInt(ms))])),
    ),
    ...samples.flatMap(({ ms, exemplar }) => (exemplar === undefined ? [] : [field(3, exemplarBytes(exemplar, ms))])),
  ]);
}

function exemplarBytes({ traceId, value }: WrittenExemplar, ms: number): Buffer {
  const label = Buffer.concat([field(1, Buffer.from("trace_id")), field(2, Buffer.from(traceId))]);
  return Buffer.concat([field(1, label), double(2, value), varintField(3, BigInt(ms))]);
}

function histogram(written: WrittenHistogram, ms: number): Buffer {
  const { schema, bounds = [], sum, zeroCount, zeroThreshold, positive, negative } = written;
  const count = [...positive.values(), ...negative.values()].reduce((total, own) => total + own, zeroCount);
  return Buffer.concat([
    varintField(1, BigInt(count)),
    double(3, sum),
    varintField(4, zigzag(schema === "custom" ? customSchema : schema)),
    double(5, zeroThreshold),
    varintField(6, BigInt(zeroCount)),
    ...spans(8, negative),
    deltas(9, negative),
    ...spans(11, positive),
    deltas(12, positive),
    varintField(15, BigInt(ms)),
    ...(bounds.length === 0 ? [] : [field(16, Buffer.concat(bounds.map(doubleBytes)))]),
  ]);
}

/** One span for each run of populated buckets. */
function spans(number: number, buckets: ReadonlyMap<number, number>): readonly Buffer[] {
  const indexes = populated(buckets);
  const starts = indexes.filter((index, place) => place === 0 || index !== (indexes[place - 1] ?? 0) + 1);
  let end = 0;
  return starts.map((start) => {
    const length = indexes.filter((index) => index >= start).findIndex((index, place) => index !== start + place);
    const run = length === -1 ? indexes.length - indexes.indexOf(start) : length;
    const span = Buffer.concat([varintField(1, zigzag(start - end)), varintField(2, BigInt(run))]);
    end = start + run;
    return field(number, span);
  });
}

function deltas(number: number, buckets: ReadonlyMap<number, number>): Buffer {
  const counts = populated(buckets).map((index) => buckets.get(index) ?? 0);
  if (counts.length === 0) return Buffer.alloc(0);
  return field(number, Buffer.concat(counts.map((count, place) => varint(zigzag(count - (counts[place - 1] ?? 0))))));
}

function populated(buckets: ReadonlyMap<number, number>): readonly number[] {
  return [...buckets.keys()].filter((index) => buckets.get(index) !== 0).sort((a, b) => a - b);
}

function zigzag(value: number): bigint {
  return BigInt(value >= 0 ? value * 2 : -value * 2 - 1);
}

function field(number: number, bytes: Buffer): Buffer {
  return Buffer.concat([varint(BigInt((number << 3) | 2)), varint(BigInt(bytes.length)), bytes]);
}

function varintField(number: number, value: bigint): Buffer {
  return Buffer.concat([varint(BigInt(number << 3)), varint(value)]);
}

function double(number: number, value: number | "stale"): Buffer {
  return Buffer.concat([varint(BigInt((number << 3) | 1)), doubleBytes(value)]);
}

function doubleBytes(value: number | "stale"): Buffer {
  const bytes = Buffer.alloc(8);
  if (value === "stale") bytes.writeBigUInt64LE(staleNaN);
  else bytes.writeDoubleLE(value);
  return bytes;
}

function varint(value: bigint): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest >= 0x80n; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80);
  return Buffer.from([...bytes, Number(rest)]);
}

/** The block format of snappy without any compression. Source: snappy, `format_description.txt`. */
function snappyLiterals(message: Buffer): Buffer {
  const chunkBytes = 65_536;
  const parts = [varint(BigInt(message.length))];
  for (let from = 0; from < message.length; from += chunkBytes) {
    const chunk = message.subarray(from, from + chunkBytes);
    const head = Buffer.from([61 << 2, 0, 0]);
    head.writeUInt16LE(chunk.length - 1, 1);
    parts.push(head, chunk);
  }
  return Buffer.concat(parts);
}
