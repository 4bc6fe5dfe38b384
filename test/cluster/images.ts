import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { chmod, mkdir, mkdtemp, readdir, rename, rm, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { cacheRoot } from "../tools/resolve.ts";
import { run } from "../tools/run.ts";
import type { BuildRequest, Progress } from "./cluster.ts";
import { debianTree } from "./debian-tree.ts";
import { nodePackages, packagesScript, quoted } from "./packages.ts";

/** The image in which containerd keeps a pod's network. */
export const pauseImage = "localhost/heliograph-pause:1";

const baseImage = "localhost/heliograph-base:1";
const buildMsMax = 10 * 60_000;
const listMsMax = 60_000;
const outputLinesShown = 15;
const hashLength = 16;
const libraries = ["busybox-static", "libc6", "libgcc-s1", "libstdc++6"];

/** Further folders that COPY lines of one build may name with `--from`. */
type Contexts = Readonly<Record<string, string>>;

/**
 * Builds an image with buildah into an archive that containerd imports. Nothing is fetched: a Dockerfile takes its base
 * image from `BASE_IMAGE`, which is Debian's C library, busybox and Node 24 at `/usr/local/bin/node`.
 *
 * @throws Error with buildah's last lines
 */
export async function buildWithBuildah(request: BuildRequest, progress: Progress): Promise<void> {
  const base = `docker-archive:${await baseArchive(progress)}`;
  await build({ ...request, buildArgs: { BASE_IMAGE: base, ...request.buildArgs } }, {}, progress);
}

/** The archive of `pauseImage`, built once. */
export async function pauseArchive(progress: Progress): Promise<string> {
  const busybox = join(await nodePackages(progress), "usr", "bin");
  const text =
    'FROM scratch\nCOPY --from=busybox busybox /bin/busybox\nENTRYPOINT ["/bin/busybox", "sleep", "2147483647"]\n';
  return builtOnce(pauseImage, "pause-image", text, { busybox }, progress);
}

/** The archive of an image with Node 24 and what it needs, built once. */
async function baseArchive(progress: Progress): Promise<string> {
  const rootfs = await debianTree(
    { name: "base-image-files", packages: libraries, withDependencies: false, finish, revision: 2 },
    progress,
  );
  const text = [
    "FROM scratch",
    "COPY --from=rootfs / /",
    "COPY --from=node node /usr/local/bin/node",
    "ENV PATH=/usr/local/bin:/usr/bin:/bin",
    "",
  ].join("\n");
  const node = dirname(fileURLToPath(import.meta.resolve("node/bin/node")));
  return builtOnce(baseImage, "base-image", text, { rootfs, node }, progress);
}

async function finish(tree: string): Promise<void> {
  await Promise.all(
    ["tmp", "etc", "root", "proc", "sys", "dev"].map((folder) => mkdir(join(tree, folder), { recursive: true })),
  );
  await chmod(join(tree, "tmp"), 0o1777);
  await linkApplets(join(tree, "bin"));
  await writeFile(join(tree, "etc", "passwd"), "root:x:0:0::/root:/bin/sh\nnode:x:1000:1000::/tmp:/bin/sh\n");
  await writeFile(join(tree, "etc", "group"), "root:x:0:\nnode:x:1000:\n");
  await writeFile(join(tree, "etc", "nsswitch.conf"), "hosts: files dns\n");
}

/** Gives busybox the names of the programs that it can be. */
async function linkApplets(bin: string): Promise<void> {
  const { stdout } = await run(join(bin, "busybox"), ["--list"], { timeoutMs: listMsMax });
  const applets = stdout
    .trim()
    .split("\n")
    .filter((name) => name !== "busybox");
  await Promise.all(applets.map((name) => symlink("busybox", join(bin, name))));
}

async function builtOnce(
  tag: string,
  name: string,
  text: string,
  contexts: Contexts,
  progress: Progress,
): Promise<string> {
  const parts = [tag, text, contexts, process.version];
  const hash = createHash("sha256").update(JSON.stringify(parts)).digest("hex").slice(0, hashLength);
  const archive = join(cacheRoot(), `${name}-${hash}.tar`);
  if (existsSync(archive)) return archive;
  await inWorkFolder(async (work) => {
    await writeFile(join(work, "Dockerfile"), text);
    const made = join(work, "image.tar");
    await build({ dockerfile: join(work, "Dockerfile"), context: work, tag, archive: made }, contexts, progress);
    await rename(made, archive);
  });
  return archive;
}

async function build(request: BuildRequest, contexts: Contexts, progress: Progress): Promise<void> {
  progress(`building image ${request.tag}`);
  const packages = await nodePackages(progress);
  await inWorkFolder(async (work) => {
    const [upper, overlayWork] = [join(work, "var-lib"), join(work, "var-lib-work")];
    await Promise.all([mkdir(upper), mkdir(overlayWork)]);
    const script = packagesScript(packages, { upper, work: overlayWork }) + buildahScript(request, contexts, work);
    const result = await run("unshare", ["--mount", "--", "/bin/sh", "-euc", script], {
      env: { BUILDAH_ISOLATION: "chroot", STORAGE_DRIVER: "vfs", TMPDIR: work },
      timeoutMs: buildMsMax,
    });
    if (result.code === 0) return;
    const lines = `${result.stdout}\n${result.stderr}`.trim().split("\n").slice(-outputLinesShown).join("\n");
    throw new Error(`building ${request.tag} failed:\n${lines}`);
  });
}

function buildahScript(request: BuildRequest, contexts: Contexts, work: string): string {
  const buildah = ["buildah", "--root", join(work, "storage"), "--runroot", join(work, "run")];
  const args = Object.entries(request.buildArgs ?? {}).flatMap(([name, value]) => ["--build-arg", `${name}=${value}`]);
  const more = Object.entries(contexts).flatMap(([name, folder]) => ["--build-context", `${name}=${folder}`]);
  // A fixed time makes equal inputs an equal image, down to its digest.
  const bud = [...buildah, "bud", "--quiet", "--network", "none", "--timestamp", "0", ...args, ...more];
  return [
    [...bud, "--file", request.dockerfile, "--tag", request.tag, request.context],
    ["rm", "-f", request.archive],
    [...buildah, "push", "--quiet", request.tag, `docker-archive:${request.archive}:${request.tag}`],
  ]
    .map((command) => command.map(quoted).join(" "))
    .join("\n");
}

/**
 * On the cache's disk, because a temporary folder in memory would hold every layer of an image there. Folders of
 * builders that were killed go first.
 */
async function inWorkFolder(work: (folder: string) => Promise<void>): Promise<void> {
  await mkdir(cacheRoot(), { recursive: true });
  const prefix = "image.making.";
  for (const name of await readdir(cacheRoot())) {
    const [pid] = name.slice(prefix.length).split(".");
    const abandoned = name.startsWith(prefix) && !existsSync(`/proc/${pid}`);
    if (abandoned) await rm(join(cacheRoot(), name), { recursive: true, force: true });
  }
  const folder = await mkdtemp(join(cacheRoot(), `${prefix}${process.pid}.`));
  try {
    await work(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
