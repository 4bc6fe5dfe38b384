import { hash } from "node:crypto";
import { promisify } from "node:util";
import { constants, zstdCompress, zstdDecompress, type ZstdOptions } from "node:zlib";
import type { HistogramSeries, PointGrid, StoreHistogram, StoreSeries } from "../../stores/prometheus/matrix.ts";
import { joinHistograms, joinSeries, type SplitResponse } from "../planning/split-interval.ts";
import type { CachedExtent, Run } from "./extents.ts";

/** The operations of a cache on one kind of series. */
export interface SeriesKind<Series> {
  /** Names the kind in messages between pods. */
  readonly name: "numbers" | "native histograms";
  /** Cuts adjacent points out of a series; undefined without any present point among them. */
  slice(series: Series, offset: number, count: number): Series | undefined;
  join(responses: readonly SplitResponse<Series>[], grid: PointGrid): readonly Series[];
  /** Estimates the size of a series in memory. */
  bytes(series: Series): number;
  /** Encodes a series as a value for JSON and its numbers as bytes. */
  pack(series: Series): { readonly head: unknown; readonly bytes: readonly Uint8Array[] };
  /**
   * Decodes a packed series of `count` points.
   *
   * @param take returns the next bytes, as many as it is given
   * @throws Error when it was packed in another way
   */
  unpack(head: unknown, count: number, take: (bytes: number) => Uint8Array): Series;
}

/** The function that cuts points out of a run. It counts them from the first point of the run. */
export function cutterOf<Series>(
  kind: SeriesKind<Series>,
  { extent, offset }: Run<Series>,
  { startMs, stepMs }: PointGrid,
): (first: number, count: number) => readonly Series[] {
  const begin = Math.round((startMs - extent.startMs) / stepMs) + offset;
  return (first, count) =>
    begin + first === 0 && count === extent.count
      ? extent.series
      : extent.series.flatMap((one) => kind.slice(one, begin + first, count) ?? []);
}

/** Estimated bytes of a series besides its values: labels, keys, objects. */
const seriesBytes = 512;
const bucketBytes = 72;

export const numberSeries: SeriesKind<StoreSeries> = {
  name: "numbers",
  slice({ labels, values, present }, offset, count) {
    const own = present.subarray(offset, offset + count);
    return own.includes(1) ? { labels, values: values.subarray(offset, offset + count), present: own } : undefined;
  },
  join: joinSeries,
  bytes: ({ values, present }) => seriesBytes + values.byteLength + present.byteLength,
  pack: ({ labels, values, present }) => ({
    head: labels,
    bytes: [new Uint8Array(values.buffer, values.byteOffset, values.byteLength), present],
  }),
  unpack(head, count, take) {
    const values = new Float64Array(take(count * Float64Array.BYTES_PER_ELEMENT).buffer as ArrayBuffer);
    return { labels: head as StoreSeries["labels"], values, present: take(count) };
  },
};

/** A native histogram with its numbers as texts. */
type PackedHistogram = readonly [count: string, sum: string, buckets: readonly (readonly [string, string, string])[]];

function packHistogram({ count, sum, buckets }: StoreHistogram): PackedHistogram {
  return [
    String(count),
    String(sum),
    buckets.map((bucket) => [String(bucket.lower), String(bucket.upper), String(bucket.count)]),
  ];
}

function unpackHistogram([count, sum, buckets]: PackedHistogram): StoreHistogram {
  const read = buckets.map(([lower, upper, own]) => ({
    lower: Number(lower),
    upper: Number(upper),
    count: Number(own),
  }));
  return { count: Number(count), sum: Number(sum), buckets: read };
}

export const histogramSeries: SeriesKind<HistogramSeries> = {
  name: "native histograms",
  slice({ labels, histograms }, offset, count) {
    const own = histograms.slice(offset, offset + count);
    return own.some((histogram) => histogram !== undefined) ? { labels, histograms: own } : undefined;
  },
  join: joinHistograms,
  bytes: ({ histograms }) =>
    histograms.reduce((sum, histogram) => sum + bucketBytes * (1 + (histogram?.buckets.length ?? 0)), seriesBytes),
  pack: ({ labels, histograms }) => ({
    // JSON has neither NaN nor empty places.
    head: {
      labels,
      histograms: histograms.map((histogram) => (histogram === undefined ? null : packHistogram(histogram))),
    },
    bytes: [],
  }),
  unpack(head, count) {
    const { labels, histograms } = head as {
      readonly labels: HistogramSeries["labels"];
      readonly histograms: readonly (PackedHistogram | null)[];
    };
    if (histograms.length !== count) throw new Error("the histograms are cut short");
    return { labels, histograms: histograms.map((packed) => (packed === null ? undefined : unpackHistogram(packed))) };
  },
};

/** The first bytes of every encoded value; another format begins with other bytes. */
const magic = Buffer.from("HGC1");
const digestBytes = 16;
const headLengthBytes = 4;
/** Most bytes of a decompressed value. */
export const unpackedBytesMax = 16 * 1024 * 1024;

/** One job of the thread pool fills one chunk; zlib's own chunks of 16 KiB double the CPU time. */
const unpackedChunkBytes = 128 * 1024;
/** A compressed value is at most this much larger than its content. */
const packedGrowthBytes = 1_024;
/** The fastest level. Higher ones save less than a hundredth of the bytes of measured values. */
const level = { [constants.ZSTD_c_compressionLevel]: 1 };

const compress = promisify<Uint8Array, ZstdOptions, Uint8Array>(zstdCompress);
const decompress = promisify(zstdDecompress);

/** The JSON before the numbers. */
interface Head {
  /** Key of the query. The name of a stored value is only its digest. */
  readonly key: string;
  /** The stored name of the extents. */
  readonly pieces: readonly ExtentHead[];
}

interface ExtentHead extends Omit<CachedExtent<unknown>, "series"> {
  readonly series: readonly unknown[];
}

/**
 * Encodes extents of one query: magic bytes, a digest, and, compressed, a head in JSON and the numbers as in memory.
 */
export async function encodeExtents<Series>(
  kind: SeriesKind<Series>,
  key: string,
  extents: readonly CachedExtent<Series>[],
): Promise<Uint8Array> {
  const heads = extents.map(({ series, ...extent }): ExtentHead => ({
    ...extent,
    series: series.map((one) => kind.pack(one).head),
  }));
  const head = Buffer.from(JSON.stringify({ key, pieces: heads } satisfies Head));
  const length = Buffer.alloc(headLengthBytes);
  length.writeUInt32LE(head.length);
  const numbers = extents.flatMap(({ series }) => series.flatMap((one) => kind.pack(one).bytes));
  const unpacked = Buffer.concat([length, head, ...numbers]);
  const chunkSize = unpacked.length + Math.ceil(unpacked.length / 128) + packedGrowthBytes;
  const packed = await compress(unpacked, { chunkSize, params: level });
  return Buffer.concat([magic, digestOf(packed), packed]);
}

/** Decodes the extents of a query; none when the bytes are cut, changed, or of another format or query. */
export async function decodeExtents<Series>(
  kind: SeriesKind<Series>,
  key: string,
  bytes: Uint8Array,
): Promise<readonly CachedExtent<Series>[]> {
  try {
    const whole = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    const packed = whole.subarray(magic.length + digestBytes);
    const isOurs =
      whole.subarray(0, magic.length).equals(magic) &&
      whole.subarray(magic.length, magic.length + digestBytes).equals(digestOf(packed));
    if (!isOurs) return [];
    const limits = { maxOutputLength: unpackedBytesMax, chunkSize: unpackedChunkBytes };
    return parseExtents(kind, key, await decompress(packed, limits));
  } catch {
    return [];
  }
}

/** @throws Error for bytes that {@link encodeExtents} never writes */
function parseExtents<Series>(
  kind: SeriesKind<Series>,
  key: string,
  unpacked: Buffer,
): readonly CachedExtent<Series>[] {
  const headEnd = headLengthBytes + unpacked.readUInt32LE();
  const head = JSON.parse(unpacked.toString("utf8", headLengthBytes, headEnd)) as Head;
  if (head.key !== key) return [];
  let at = headEnd;
  const take = (count: number): Uint8Array => {
    if (at + count > unpacked.length) throw new Error("the numbers are cut short");
    at += count;
    // A copy, since a Float64Array needs an aligned offset.
    return new Uint8Array(unpacked.subarray(at - count, at));
  };
  return head.pieces.map(({ series, ...extent }) => ({
    ...extent,
    series: series.map((own) => kind.unpack(own, extent.count, take)),
  }));
}

function digestOf(bytes: Uint8Array): Buffer {
  return hash("sha256", bytes, "buffer").subarray(0, digestBytes);
}
