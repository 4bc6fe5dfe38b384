/**
 * Reads a body of another server to its end.
 *
 * @param source names the server in the error
 * @throws Error for more bytes than the bound, and errors of the body
 */
export async function readBoundedBody(body: AsyncIterable<Buffer>, bytesMax: number, source: string): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > bytesMax) throw new Error(`${source} sent more than ${bytesMax} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
