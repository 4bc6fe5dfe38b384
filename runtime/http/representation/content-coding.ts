import { promisify } from "node:util";
import { constants, gzip, zstdCompress, type ZlibOptions, type ZstdOptions } from "node:zlib";

/** Content codings of a response. */
export type ContentCoding = "zstd" | "gzip" | "identity";

/** The preferred one first. */
const offered = ["zstd", "gzip"] as const;
/** Smaller bodies are sent without a coding, which would save no packet. */
const codedBytesMin = 1_024;

const elementPattern = /^(?<coding>[\w!#$&^.+*-]+)(?:;q=(?<weight>0(?:\.\d{0,3})?|1(?:\.0{0,3})?))?$/iu;

/** The accepted coding of a body that is made for the response. */
export function chooseCoding(acceptEncoding: string | undefined): ContentCoding {
  return chooseAmong(acceptEncoding, offered);
}

/**
 * The accepted coding with the greatest weight. Of equal weights the first wins, so that the smallest result stands
 * first. Falls back to identity, also when the caller refuses it. Source: RFC 9110 §12.5.3.
 */
export function chooseAmong<Coding extends string>(
  acceptEncoding: string | undefined,
  codings: readonly Coding[],
): Coding | "identity" {
  const weights = new Map<string, number>();
  for (const element of (acceptEncoding ?? "").split(",")) {
    const { coding, weight } = elementPattern.exec(element.replaceAll(/\s/gu, ""))?.groups ?? {};
    if (coding !== undefined) weights.set(coding.toLowerCase(), Number(weight ?? 1));
  }
  const [best] = codings
    .map((coding) => ({ coding, weight: weights.get(coding) ?? weights.get("*") ?? 0 }))
    .filter(({ weight }) => weight > 0)
    .sort((one, other) => other.weight - one.weight);
  return best?.coding ?? "identity";
}

const gzipped = promisify<Uint8Array, ZlibOptions, Uint8Array>(gzip);
const zstdCompressed = promisify<Uint8Array, ZstdOptions, Uint8Array>(zstdCompress);

/** At the fastest level. 50 series of 180 points take 2.7 ms instead of 11, and 9 % more bytes in gzip. */
const encoders: Readonly<Record<Exclude<ContentCoding, "identity">, (bytes: Uint8Array) => Promise<Uint8Array>>> = {
  gzip: (bytes) => gzipped(bytes, { level: constants.Z_BEST_SPEED }),
  zstd: (bytes) => zstdCompressed(bytes, { params: { [constants.ZSTD_c_compressionLevel]: 1 } }),
};

/** The bytes in a coding; small ones as they are. */
export async function encodeBytes(
  bytes: Uint8Array,
  coding: ContentCoding,
): Promise<{ readonly coding: ContentCoding; readonly bytes: Uint8Array }> {
  if (coding === "identity" || bytes.length < codedBytesMin) return { coding: "identity", bytes };
  return { coding, bytes: await encoders[coding](bytes) };
}
