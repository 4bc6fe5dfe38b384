import { hash } from "node:crypto";
import { promisify } from "node:util";
import { constants, zstdCompress, zstdDecompress, type ZstdOptions } from "node:zlib";
import type { CachedExtent } from "./extents.ts";
import type { SeriesKind } from "./series-kind.ts";

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
