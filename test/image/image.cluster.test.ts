import { globSync } from "node:fs";
import { mkdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { version } from "../../runtime/version.ts";
import { describeOnNode } from "../cluster/describe-on-cluster.ts";
import { buildWithBuildah } from "../cluster/images.ts";
import { temporaryFolder, type TemporaryFolder } from "../support/temp-folder.ts";
import { run } from "../tools/run.ts";
import type { BillOfMaterials } from "./bill-of-materials.ts";
import { buildProductImage } from "./build-image.ts";
import { bundledPackages, type LockFile } from "./production-packages.ts";

const root = dirname(dirname(import.meta.dirname));
const unpackedBytesMax = 250 * 1024 * 1024;
const commandMsMax = 60_000;

interface ImageConfig {
  readonly config: {
    readonly User: string;
    readonly Labels: Readonly<Record<string, string>>;
    readonly Entrypoint: readonly string[];
  };
}

let folder: TemporaryFolder;
let archives: readonly string[];

beforeAll(async () => {
  folder = await temporaryFolder("image");
  archives = [await built("first"), await built("second")];
});

afterAll(async () => {
  await folder.remove();
});

async function built(name: string): Promise<string> {
  const archive = join(folder.path, `${name}.tar`);
  const image = { root, tag: "localhost/heliograph:test", context: join(folder.path, `${name}-files`), archive };
  await buildProductImage(
    image,
    (request) => buildWithBuildah(request, () => undefined),
    () => undefined,
  );
  return archive;
}

/** The image's configuration by its own digest, which covers every byte of every layer. */
async function configOf(archive: string): Promise<{ readonly digest: string; readonly config: ImageConfig }> {
  const [manifest] = JSON.parse(await fileIn(archive, "manifest.json")) as [{ readonly Config: string }];
  return { digest: manifest.Config, config: JSON.parse(await fileIn(archive, manifest.Config)) as ImageConfig };
}

async function fileIn(archive: string, path: string): Promise<string> {
  const { code, stdout, stderr } = await run("tar", ["-xOf", archive, path], { timeoutMs: commandMsMax });
  if (code !== 0) throw new Error(stderr);
  return stdout;
}

describeOnNode("the image", () => {
  test("is the same when it is built again", async () => {
    const [first, second] = await Promise.all(archives.map(configOf));
    expect(first?.digest).toMatch(/^[0-9a-f]{64}/u);
    expect(second?.digest).toBe(first?.digest);
  });

  test("is smaller than 250 MiB, unpacked and with its base", async () => {
    // Layers of this archive are not compressed.
    const { stdout } = await run("stat", ["--format=%s", archives[0] ?? ""], { timeoutMs: commandMsMax });
    const bytes = Number(stdout);
    console.log(`the image takes ${Math.round(bytes / 1024 / 1024)} MiB`);
    expect(bytes).toBeGreaterThan(0);
    expect(bytes).toBeLessThan(unpackedBytesMax);
  });

  test("runs as a numeric user that is not root and says what it is", async () => {
    const { config } = (await configOf(archives[0] ?? "")).config;
    expect(config.User).toBe("65532:65532");
    expect(config.Entrypoint).toEqual(["node", "/app/cli/heliograph.js"]);
    const { stdout } = await run("git", ["rev-parse", "HEAD"], { cwd: root, timeoutMs: commandMsMax });
    expect(config.Labels).toMatchObject({
      "org.opencontainers.image.title": "heliograph",
      "org.opencontainers.image.licenses": "Apache-2.0",
      "org.opencontainers.image.version": version,
      "org.opencontainers.image.revision": stdout.trim() || "unknown",
      "dev.heliograph.sbom": "/app/sbom.cdx.json",
    });
  });

  test("lists every package that it holds in its bill of materials, and no other", async () => {
    const app = join(folder.path, "first-files", "app");
    const bill = JSON.parse(await readFile(join(app, "sbom.cdx.json"), "utf8")) as BillOfMaterials;
    const manifests = globSync("node_modules/**/package.json", { cwd: app });
    const held = manifests
      .filter((path) => isPackage(path))
      .map(async (path) => {
        const { name, version: its } = JSON.parse(await readFile(join(app, path), "utf8")) as {
          readonly name: string;
          readonly version: string;
        };
        return `${name}@${its}`;
      });
    expect(bill.metadata.component).toMatchObject({ type: "application", name: "heliograph", version });
    const lock = JSON.parse(await readFile(join(root, "package-lock.json"), "utf8")) as LockFile;
    const bundled = bundledPackages.map((name) => `${name}@${lock.packages[`node_modules/${name}`]?.version}`);
    expect(bill.components.map((component) => `${component.name}@${component.version}`).sort()).toEqual(
      [...new Set([...(await Promise.all(held)), ...bundled])].sort(),
    );
    expect(bill.components.filter(({ licenses, hashes }) => licenses.length !== 1 || hashes?.length !== 1)).toEqual([]);
  });

  test("holds the console as built files only", async () => {
    const app = join(folder.path, "first-files", "app");
    const files = globSync("dist/**/*", { cwd: app, withFileTypes: true }).filter((entry) => entry.isFile());
    expect(files.map(({ name }) => name)).toContain("index.html");
    expect(files.filter(({ name }) => !/\.(?:html|js|css|svg|md)(?:\.gz|\.br)?$/u.test(name))).toEqual([]);
    expect(globSync(["console/**", "node_modules/{preact,uplot,vite}/**"], { cwd: app })).toEqual([]);
  });

  test("starts both programs from what was compiled", async () => {
    const work = join(folder.path, "work");
    await mkdir(work);
    for (const program of ["cli/heliograph.js", "cli/operator/heliograph-operator.js"]) {
      const path = join(folder.path, "first-files", "app", program);
      const { code, stdout } = await run(process.execPath, [path, "--version"], { cwd: work, timeoutMs: commandMsMax });
      expect([code, stdout.trim()]).toEqual([0, version]);
    }
  });
});

/** Folders inside a package may have a manifest too, which only says how to read their files. */
function isPackage(path: string): boolean {
  return /(?:^|\/)node_modules\/(?:@[^/]+\/)?[^/]+\/package\.json$/u.test(path);
}
