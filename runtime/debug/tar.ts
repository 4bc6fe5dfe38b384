import { gzipSync } from "node:zlib";

/** One file of an archive. */
export interface ArchivedFile {
  /** At most 100 characters of ASCII. */
  readonly name: string;
  readonly text: string;
}

const blockBytes = 512;
const nameBytesMax = 100;

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
