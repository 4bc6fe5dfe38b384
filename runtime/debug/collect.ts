import { gzipSync } from "node:zlib";
import { withinTime } from "../../limits/clock.ts";

/** One part of a bundle. */
export interface BundlePart {
  readonly name: string;
  /** Reads the part, masked. @throws Error when it cannot be had */
  readonly read: (signal: AbortSignal) => Promise<string>;
}

/** A collected part, or the reason for its absence. */
interface PartReport {
  readonly name: string;
  readonly ok: boolean;
  readonly bytes: number;
  readonly detail?: string;
}

interface Collected {
  readonly files: readonly ArchivedFile[];
  readonly reports: readonly PartReport[];
}

const partMsMax = 10_000;
export const partBytesMax = 8 * 1024 * 1024;
const bundleBytesMax = 32 * 1024 * 1024;

/** One file of an archive. */
interface ArchivedFile {
  /** At most 100 characters of ASCII. */
  readonly name: string;
  readonly text: string;
}

const blockBytes = 512;
const nameBytesMax = 100;

/** Reads all parts at once, each within a time limit. A part that cannot be had is reported, and the rest is read. */
export async function collect(parts: readonly BundlePart[], mask: (text: string) => string): Promise<Collected> {
  const results = await Promise.allSettled(parts.map((part) => within(part)));
  const files: ArchivedFile[] = [];
  let bytes = 0;
  const reports = results.map((result, index): PartReport => {
    const { name = "" } = parts[index] ?? {};
    if (result.status === "rejected") return { name, ok: false, bytes: 0, detail: mask(messageOf(result.reason)) };
    const own = Buffer.byteLength(result.value);
    if (own > partBytesMax || bytes + own > bundleBytesMax)
      return { name, ok: false, bytes: own, detail: "larger than the bundle may be" };
    bytes += own;
    files.push({ name, text: result.value });
    return { name, ok: true, bytes: own };
  });
  return { files, reports };
}

async function within({ name, read }: BundlePart): Promise<string> {
  const end = new AbortController();
  return await withinTime(read(end.signal), partMsMax, () => {
    end.abort();
    return new Error(`${name} took longer than ${partMsMax / 1_000} s`);
  });
}

/** The message of an error with those of its causes. A failed connection has its reason there. */
function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause === undefined ? error.message : `${error.message}: ${messageOf(error.cause)}`;
}

/** A gzipped archive in the form ustar. Source: POSIX, "pax", "ustar Interchange Format". */
export function tarGz(files: readonly ArchivedFile[], modifiedAt: Date): Buffer {
  const blocks = files.flatMap(({ name, text }) => {
    const bytes = Buffer.from(text);
    const padding = Buffer.alloc((blockBytes - (bytes.length % blockBytes)) % blockBytes);
    return [headerOf(name, bytes.length, modifiedAt), bytes, padding];
  });
  return gzipSync(Buffer.concat([...blocks, Buffer.alloc(2 * blockBytes)]));
}

function headerOf(name: string, size: number, modifiedAt: Date): Buffer {
  if (name.length > nameBytesMax) throw new Error(`the name ${name} is too long for an archive`);
  const octal = (value: number, length: number): string => `${value.toString(8).padStart(length - 1, "0")}\0`;
  const header = Buffer.alloc(blockBytes);
  const seconds = Math.floor(modifiedAt.getTime() / 1_000);
  header.write(name, 0);
  header.write([octal(0o600, 8), octal(0, 8), octal(0, 8), octal(size, 12), octal(seconds, 12)].join(""), 100);
  // The checksum counts its own field as spaces.
  header.write(" ".repeat(8), 148);
  header.write("0", 156);
  header.write("ustar\u000000", 257);
  const sum = header.reduce((all, byte) => all + byte, 0);
  header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  return header;
}
