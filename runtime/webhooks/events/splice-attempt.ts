const openBrace = 0x7b;
const closeBrace = 0x7d;
const jsonSpaces: ReadonlySet<number | undefined> = new Set([0x20, 0x09, 0x0a, 0x0d]);

/**
 * Adds `"attempt":N` as the last member. All other bytes stay as the producer sent them. `bytes` are those of a {@link
 * ValidEnvelope} or of any other JSON object.
 */
export function spliceAttempt(bytes: Uint8Array, attempt: number): Uint8Array {
  const close = lastBefore(bytes, bytes.length);
  if (bytes[close] !== closeBrace) {
    throw new TypeError("An attempt is spliced into a JSON object");
  }
  const isEmpty = bytes[lastBefore(bytes, close)] === openBrace;
  const member = `${isEmpty ? "" : ","}"attempt":${attempt}`;
  const spliced = Buffer.allocUnsafe(bytes.length + member.length);
  spliced.set(bytes);
  spliced.copyWithin(close + member.length, close, bytes.length);
  spliced.write(member, close, "latin1");
  return spliced;
}

/** Index of the last byte before `end` that is not JSON white space. */
function lastBefore(bytes: Uint8Array, end: number): number {
  let index = end - 1;
  while (jsonSpaces.has(bytes[index])) {
    index -= 1;
  }
  return index;
}
