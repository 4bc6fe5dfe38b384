import type { ArchivedFile } from "./tar.ts";

/** One part of a bundle. */
export interface Part {
  readonly name: string;
  /** Reads the part, masked. @throws Error when it cannot be had */
  readonly read: (signal: AbortSignal) => Promise<string>;
}

/** A collected part, or the reason for its absence. */
export interface PartReport {
  readonly name: string;
  readonly ok: boolean;
  readonly bytes: number;
  readonly detail?: string;
}

interface Collected {
  readonly files: readonly ArchivedFile[];
  readonly reports: readonly PartReport[];
}

export const partMsMax = 10_000;
export const partBytesMax = 8 * 1024 * 1024;
const bundleBytesMax = 32 * 1024 * 1024;

/** Reads all parts at once, each within a time limit. A part that cannot be had is reported, and the rest is read. */
export async function collect(parts: readonly Part[], mask: (text: string) => string): Promise<Collected> {
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

async function within({ name, read }: Part): Promise<string> {
  const end = new AbortController();
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    end.abort();
    late.reject(new Error(`${name} took longer than ${partMsMax / 1_000} s`));
  }, partMsMax);
  try {
    return await Promise.race([read(end.signal), late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** The message of an error with those of its causes. A failed connection has its reason there. */
function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause === undefined ? error.message : `${error.message}: ${messageOf(error.cause)}`;
}
