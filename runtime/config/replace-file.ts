import { open, rename, rm } from "node:fs/promises";

const ownerOnly = 0o600;

/**
 * Replaces a file that only its owner may read, and that has one writer. After a crash it has either the old or the
 * new content.
 *
 * @param isNew called when everything is written: false keeps the old content. @default true
 * @throws Error of the file system when it cannot be written
 */
export async function replaceFile(
  path: string,
  content: string | AsyncIterable<Uint8Array>,
  isNew: () => boolean = () => true,
): Promise<void> {
  const aside = `${path}.new`;
  try {
    // An existing file of another user would keep its mode.
    await rm(aside, { force: true });
    const file = await open(aside, "wx", ownerOnly);
    try {
      await file.writeFile(content);
      if (isNew()) await file.sync();
    } finally {
      await file.close();
    }
    await (isNew() ? rename(aside, path) : rm(aside));
  } catch (error) {
    await rm(aside, { force: true }).catch(() => undefined);
    throw error;
  }
}
