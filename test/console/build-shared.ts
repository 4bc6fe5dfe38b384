import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { buildConsole } from "../image/files.ts";
import { withLock } from "../tools/lock.ts";

/** What the build reads. */
const sources = ["console", "api", "package-lock.json"];
const waitMsMax = 240_000;

/**
 * Builds the console of this checkout, which every started program serves. Suites start at the same time, and one build
 * would delete what another program reads, so the first one builds and the others wait for it.
 *
 * @throws Error with what the build said
 */
export async function buildShared(root: string): Promise<void> {
  const target = join(root, "dist", "console");
  const mark = join(root, "dist", "console.built");
  await mkdir(join(root, "dist"), { recursive: true });
  const options = { waitMs: waitMsMax, onWait: () => undefined };
  await withLock(join(root, "dist", "console.lock"), options, async () => {
    const digest = await digestOf(root);
    if ((await readFile(mark, "utf8").catch(() => "")) === (await markOf(target, digest))) return;
    await buildConsole(root, target);
    await writeFile(mark, await markOf(target, digest));
  });
}

/** Another build of the same folder has another time. */
async function markOf(target: string, digest: string): Promise<string> {
  const { mtimeMs } = await stat(join(target, "index.html")).catch(() => ({ mtimeMs: 0 }));
  return `${digest} ${mtimeMs}`;
}

async function digestOf(root: string): Promise<string> {
  const hash = createHash("sha256");
  for (const source of sources) {
    const path = join(root, source);
    const isFolder = (await stat(path)).isDirectory();
    const names = isFolder ? (await readdir(path, { recursive: true })).toSorted() : [""];
    for (const name of names) {
      const file = join(path, name);
      if ((await stat(file)).isFile()) hash.update(`${source}/${name}\n`).update(await readFile(file));
    }
  }
  return hash.digest("hex");
}
