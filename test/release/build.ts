import { createHash } from "node:crypto";
import { cp, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { version } from "../../runtime/version.ts";
import { billOfMaterials } from "../image/bill-of-materials.ts";
import { revisionOf } from "../image/build-image.ts";
import { writeImageFiles } from "../image/files.ts";
import { shippedPackages, type LockFile } from "../image/production-packages.ts";
import { resolveTool } from "../tools/resolve.ts";
import { succeed } from "../tools/run.ts";
import { notesOf, withWholeLinks } from "./changelog.ts";
import { recipeOf } from "./dockerfile.ts";
import { krewArchive, krewFolder, writeKrewFiles, writeKrewManifest } from "./krew.ts";
import { writeManifests } from "./manifests.ts";
import { repository } from "./names.ts";
import { packNpmPackages } from "./npm-packages.ts";

const filesOfVersion = `https://github.com/${repository}/blob/v${version}`;
const packMsMax = 2 * 60_000;

/**
 * Writes everything that a release publishes into a folder: `files/` for the release's page, with their checksums in
 * `SHA256SUMS`; `image/` with the product's layer and the recipe; `notes.md`; and what Artifact Hub reads.
 *
 * @param root of the checkout, with its packages installed
 * @param target is emptied first
 * @param base of the image. @default the Dockerfile's
 * @throws Error with the last lines of the program that failed
 */
export async function buildRelease(root: string, target: string, base?: string): Promise<void> {
  await rm(target, { recursive: true, force: true });
  const files = join(target, "files");
  await mkdir(files, { recursive: true });
  const notes = notesOf(await readFile(join(root, "CHANGELOG.md"), "utf8"), version);
  await writeFile(join(target, "notes.md"), withWholeLinks(notes, filesOfVersion));
  const work = join(target, "work");
  const compiled = await writeImage(root, work, join(target, "image"), base);
  await packChart(root, files);
  await packManifests(work, files);
  await packKrewPlugin(compiled, work, files);
  await packNpmPackages({ root, compiled, work: join(work, "npm"), target: files });
  await writeSbom(root, join(files, `heliograph-${version}.sbom.cdx.json`));
  await cp(join(root, "charts", "artifacthub-repo.yml"), join(target, "artifacthub-repo.yml"));
  await rm(work, { recursive: true });
  await writeFile(join(files, "SHA256SUMS"), await checksumsOf(files));
}

/** The packages of the product, as CycloneDX. */
export async function writeSbom(root: string, path: string): Promise<void> {
  const lock = JSON.parse(await readFile(join(root, "package-lock.json"), "utf8")) as LockFile;
  const manifest = JSON.parse(await readFile(join(root, "package.json"), "utf8")) as Product;
  const bill = billOfMaterials(manifest, lock, shippedPackages(lock));
  await writeFile(path, `${JSON.stringify(bill, undefined, 1)}\n`);
}

interface Product {
  readonly name: string;
  readonly version: string;
  readonly license: string;
}

/** Writes the product's layer and the recipe. Answers the folder that holds the compiled product. */
async function writeImage(root: string, work: string, target: string, base: string | undefined): Promise<string> {
  const files = join(work, "image");
  await writeImageFiles(root, files);
  await mkdir(target, { recursive: true });
  await pack(join(target, "layer.tar.gz"), files, "app");
  const bases = base === undefined ? {} : { BASE_IMAGE: base };
  const args = { VERSION: version, REVISION: await revisionOf(root), ...bases };
  const recipe = recipeOf(await readFile(join(root, "Dockerfile"), "utf8"), args);
  await writeFile(join(target, "recipe.json"), JSON.stringify(recipe, undefined, 1));
  return join(files, "app");
}

async function packChart(root: string, files: string): Promise<void> {
  const args = ["package", join(root, "charts", "heliograph"), "--destination", files];
  await succeed(await resolveTool("helm"), args, { timeoutMs: packMsMax });
}

async function packManifests(work: string, files: string): Promise<void> {
  const folder = join(work, "heliograph");
  await writeManifests(folder);
  await rm(join(folder, "secrets.yaml"));
  await pack(join(files, `heliograph-manifests-${version}.tar.gz`), work, "heliograph");
}

async function packKrewPlugin(compiled: string, work: string, files: string): Promise<void> {
  await writeKrewFiles(compiled, work);
  const archive = join(files, krewArchive(version));
  await pack(archive, work, krewFolder);
  await writeKrewManifest(version, archive, files);
}

/** Packs one entry of a folder. Order, owners and times depend on nothing but the entry. */
async function pack(archive: string, folder: string, entry: string): Promise<void> {
  const same = ["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--mtime=@0", "--format=gnu"];
  const args = [...same, "--use-compress-program=gzip -n", "--create", "--file", archive, "--directory", folder, entry];
  await succeed("tar", args, { timeoutMs: packMsMax });
}

/** One line for each file, as `sha256sum --check` reads it. */
async function checksumsOf(folder: string): Promise<string> {
  const lines = (await readdir(folder)).sort().map(async (name) => {
    const hash = createHash("sha256").update(await readFile(join(folder, name)));
    return `${hash.digest("hex")}  ${name}\n`;
  });
  return (await Promise.all(lines)).join("");
}
