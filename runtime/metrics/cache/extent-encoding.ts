import { hash } from "node:crypto";
import { promisify } from "node:util";
import { zstdCompress, zstdDecompress } from "node:zlib";
import type { Piece } from "./extents.ts";
import type { SeriesKind } from "./series-kind.ts";

/** Begins every value of this form; another form has another name. */
const magic = Buffer.from("HGC1");
const digestBytes = 16;
const headLengthBytes = 4;
/** What a value may come to when it is unpacked, whoever wrote it. */
export const unpackedBytesMax = 16 * 1024 * 1024;

const compress = promisify<Uint8Array, Uint8Array>(zstdCompress);
const decompress = promisify(zstdDecompress);

/** What stands before the numbers. */
interface Head {
  /** Of the query, since names of values are digests. */
  readonly key: string;
  readonly pieces: readonly PieceHead[];
}

interface PieceHead extends Omit<Piece<unknown>, "series"> {
  readonly series: readonly unknown[];
}

/**
 * Pieces of one query as bytes: form, digest, and, compressed, a head in JSON and the numbers as they are in memory.
 */
export async function packPieces<Series>(
  kind: SeriesKind<Series>,
  key: string,
  pieces: readonly Piece<Series>[],
): Promise<Uint8Array> {
  const heads = pieces.map(({ series, ...piece }): PieceHead => ({
    ...piece,
    series: series.map((one) => kind.pack(one).head),
  }));
  const head = Buffer.from(JSON.stringify({ key, pieces: heads } satisfies Head));
  const length = Buffer.alloc(headLengthBytes);
  length.writeUInt32LE(head.length);
  const numbers = pieces.flatMap(({ series }) => series.flatMap((one) => kind.pack(one).bytes));
  const packed = await compress(Buffer.concat([length, head, ...numbers]));
  return Buffer.concat([magic, digestOf(packed), packed]);
}

/** The pieces of a query; none when the bytes are cut, changed, of another form or of another query. */
export async function unpackPieces<Series>(
  kind: SeriesKind<Series>,
  key: string,
  bytes: Uint8Array,
): Promise<readonly Piece<Series>[]> {
  try {
    const whole = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    const packed = whole.subarray(magic.length + digestBytes);
    const isOurs =
      whole.subarray(0, magic.length).equals(magic) &&
      whole.subarray(magic.length, magic.length + digestBytes).equals(digestOf(packed));
    return isOurs ? readPieces(kind, key, await decompress(packed, { maxOutputLength: unpackedBytesMax })) : [];
  } catch {
    return [];
  }
}

/** @throws Error for anything that {@link packPieces} would not write */
function readPieces<Series>(kind: SeriesKind<Series>, key: string, unpacked: Buffer): readonly Piece<Series>[] {
  const headEnd = headLengthBytes + unpacked.readUInt32LE();
  const head = JSON.parse(unpacked.toString("utf8", headLengthBytes, headEnd)) as Head;
  if (head.key !== key) return [];
  let at = headEnd;
  const take = (count: number): Uint8Array => {
    if (at + count > unpacked.length) throw new Error("the numbers are cut short");
    at += count;
    // A copy of its own, since numbers have to begin where their size divides the place.
    return new Uint8Array(unpacked.subarray(at - count, at));
  };
  return head.pieces.map(({ series, ...piece }) => ({
    ...piece,
    series: series.map((own) => kind.unpack(own, piece.count, take)),
  }));
}

function digestOf(bytes: Uint8Array): Buffer {
  return hash("sha256", bytes, "buffer").subarray(0, digestBytes);
}
