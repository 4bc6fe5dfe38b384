import { createHash } from "node:crypto";
import { mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { brotliDecompress } from "node:zlib";
import { run } from "../tools/run.ts";

/** The release before this one, packed: everything that its chart and its image are made of. */
export const packPath = join(import.meta.dirname, "previous-release.pack");

/** First line of the pack. */
export interface PackHeader {
  /** The whole id of the commit. */
  readonly commit: string;
  /** Digest of the archive, in hexadecimal. */
  readonly tarSha256: string;
}

/** The release before this one, unpacked. */
export interface PreviousRelease {
  readonly commit: string;
  /** A checkout without tests. Its packages are those of this checkout. */
  readonly root: string;
  /** Its chart. */
  readonly chart: string;
  /** Its definitions, one file per kind. */
  readonly definitions: string;
}

const unpackMsMax = 60_000;

/** Unpacks the release before this one into a folder. @throws Error when the pack is not what was packed */
export async function unpackPreviousRelease(folder: string): Promise<PreviousRelease> {
  const [head = "", ...lines] = (await readFile(packPath, "utf8")).split("\n");
  const { commit, tarSha256 } = JSON.parse(head) as PackHeader;
  const tar = await promisify(brotliDecompress)(Buffer.from(lines.join(""), "base64"));
  const digest = createHash("sha256").update(tar).digest("hex");
  if (digest !== tarSha256) throw new Error(`${packPath} holds an archive with the digest ${digest}: pack it again`);
  await mkdir(folder, { recursive: true });
  const archive = join(folder, "previous.tar");
  await writeFile(archive, tar);
  const { code, stderr } = await run("tar", ["--extract", "--file", archive, "--directory", folder], {
    timeoutMs: unpackMsMax,
  });
  if (code !== 0) throw new Error(`tar ended with ${code}: ${stderr.trim()}`);
  await symlink(join(dirname(dirname(import.meta.dirname)), "node_modules"), join(folder, "node_modules"));
  return { commit, root: folder, chart: join(folder, "charts", "heliograph"), definitions: join(folder, "crds") };
}
