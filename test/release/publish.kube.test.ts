import { createHash } from "node:crypto";
import { mkdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { version } from "../../runtime/version.ts";
import { temporaryFolder, type TemporaryFolder } from "../support/temp-folder.ts";
import { resolveTool } from "../tools/resolve.ts";
import { succeed } from "../tools/run.ts";
import { buildRelease } from "./build.ts";
import type { ImageRecipe } from "./dockerfile.ts";
import { type LocalRegistry, startRegistry } from "./local-registry.ts";
import { chartIn, imageIn, releasedImage, releaseRegistry } from "./names.ts";
import { describeNpmPackages } from "./npm-packages-checks.ts";
import { type Pushed, pushRelease } from "./push.ts";
import { describeSignatures } from "./signature-checks.ts";

const root = dirname(dirname(import.meta.dirname));
const commandMsMax = 60_000;
const buildMsMax = 5 * 60_000;
const platforms = ["linux/amd64", "linux/arm64"];

let folder: TemporaryFolder;
let registry: LocalRegistry;
/** As `ghcr.io/heliograph-dev` is for a release. */
let place: string;
let pushed: Pushed;

const inFolder = (...names: readonly string[]): string => join(folder.path, ...names);

beforeAll(async () => {
  folder = await temporaryFolder("publish");
  registry = await startRegistry(folder.path);
  place = `${registry.host}/releases`;
  await buildRelease(root, inFolder("release"), await pushBase());
  pushed = await pushRelease({ folder: inFolder("release"), version, registry: place, plainHttp: true });
}, buildMsMax);

afterAll(async () => {
  await registry?.stop();
  await folder?.remove();
});

/** A base for both platforms. It holds one file, since no base with Node for another platform can be had everywhere. */
async function pushBase(): Promise<string> {
  const base = `${registry.host}/base`;
  const images: string[] = [];
  for (const platform of platforms) {
    const layer = await registry.layer(platform.replace("/", "-"), platform);
    const plain = await registry.crane([
      "append",
      "--oci-empty-base",
      "--new_layer",
      layer,
      "--new_tag",
      `${base}:plain`,
    ]);
    images.push(await registry.crane(["mutate", plain, "--set-platform", platform, "--env", "FROM_BASE=yes"]));
  }
  const manifests = images.flatMap((image) => ["--manifest", image]);
  await registry.crane(["index", "append", ...manifests, "--tag", `${base}:nonroot`]);
  return `${base}:nonroot`;
}

describe("a release", () => {
  test("has one checksum for each file of its page", async () => {
    const files = inFolder("release", "files");
    const output = await succeed("sha256sum", ["--check", "--strict", "SHA256SUMS"], {
      cwd: files,
      timeoutMs: commandMsMax,
    });
    expect(output.trim().split("\n")).toEqual(
      [
        `heliograph-${version}.sbom.cdx.json: OK`,
        `heliograph-${version}.tgz: OK`,
        `heliograph-dev-cli-${version}.tgz: OK`,
        `heliograph-dev-recipient-${version}.tgz: OK`,
        `heliograph-manifests-${version}.tar.gz: OK`,
        "heliograph.yaml: OK",
        `kubectl-heliograph-${version}.tar.gz: OK`,
      ].sort(),
    );
  });

  test("has a plugin of kubectl that runs from its archive, with the checksum of its manifest", async () => {
    const archive = inFolder("release", "files", `kubectl-heliograph-${version}.tar.gz`);
    const target = inFolder("krew");
    await mkdir(target);
    await succeed("tar", ["-xzf", archive, "--directory", target], { timeoutMs: commandMsMax });
    const text = await readFile(inFolder("release", "files", "heliograph.yaml"), "utf8");
    expect(text).toContain(
      createHash("sha256")
        .update(await readFile(archive))
        .digest("hex"),
    );
    const program = join(target, "kubectl-heliograph", "bin", "kubectl-heliograph.js");
    const env = { PATH: `${dirname(process.execPath)}:${process.env["PATH"] ?? ""}` };
    expect(await succeed(program, ["--version"], { env, timeoutMs: commandMsMax })).toBe(`${version}\n`);
  });

  test("has no Secret among its manifests", async () => {
    const archive = inFolder("release", "files", `heliograph-manifests-${version}.tar.gz`);
    const listed = await succeed("tar", ["-tf", archive], { timeoutMs: commandMsMax });
    const names = listed.trim().split("\n");
    expect(names.map((name) => name.replace("heliograph/", "")).sort()).toEqual(
      ["", "definitions.yaml", "heliograph.yaml", "kustomization.yaml", "namespace.yaml"].sort(),
    );
    expect(await succeed("tar", ["-xOf", archive], { timeoutMs: commandMsMax })).not.toMatch(/^kind: Secret$/mu);
  });
});

interface Index {
  readonly manifests: ReadonlyArray<{ readonly digest: string; readonly platform: Readonly<Record<string, string>> }>;
}

interface Manifest {
  readonly annotations: Readonly<Record<string, string>>;
  readonly layers: ReadonlyArray<{ readonly digest: string }>;
}

describe("the pushed image", () => {
  const json = async <Content>(args: readonly string[]): Promise<Content> => {
    return JSON.parse(await registry.crane(args)) as Content;
  };

  test("is one index of both platforms, with the same layer of the product over the base of each", async () => {
    const { manifests } = await json<Index>(["manifest", `${imageIn(place)}:${version}`]);
    expect(manifests.map(({ platform }) => `${platform["os"]}/${platform["architecture"]}`)).toEqual(platforms);
    const layers = manifests.map(async ({ digest }) => {
      const manifest = await json<Manifest>(["manifest", `${imageIn(place)}@${digest}`]);
      expect(manifest.annotations["org.opencontainers.image.base.name"]).toBe(`${registry.host}/base:nonroot`);
      expect(manifest.annotations["org.opencontainers.image.base.digest"]).toMatch(/^sha256:[0-9a-f]{64}$/u);
      return manifest.layers.map((layer) => layer.digest);
    });
    const [one = [], other = []] = await Promise.all(layers);
    expect([one.length, other.length]).toEqual([2, 2]);
    expect(one[1]).toBe(other[1]);
    expect(one[0]).not.toBe(other[0]);
  });

  test.each(platforms)("has the configuration of the Dockerfile on %s", async (platform) => {
    const { config } = JSON.parse(await readFile(inFolder("release", "image", "recipe.json"), "utf8")) as ImageRecipe;
    const [os, architecture] = platform.split("/");
    expect(await json(["config", `${imageIn(place)}:${version}`, "--platform", platform])).toMatchObject({
      os,
      architecture,
      config: {
        User: config.user,
        WorkingDir: config.workdir,
        Entrypoint: config.entrypoint,
        Cmd: config.cmd,
        Labels: config.labels,
        ExposedPorts: { "8080/tcp": {}, "9090/tcp": {} },
        Env: expect.arrayContaining(["FROM_BASE=yes", `PATH=${config.env["PATH"]}`, "NODE_ENV=production"]),
      },
    });
  });
});

describeNpmPackages(() => inFolder("release", "files"));

describe("the pushed chart", () => {
  test.each([
    ["helm", "README.md"],
    ["helm4", "docs/how-to/releases.md"],
  ] as const)("is rendered by %s as %s installs it, with the released image", async (tool, page) => {
    const [line = ""] = /^helm install heliograph oci:.*$/mu.exec(await readFile(join(root, page), "utf8")) ?? [];
    const args = line.replace(releaseRegistry, place).replace("helm install", "template").split(" ");
    const text = await succeed(await resolveTool(tool), [...args, "--plain-http"], {
      timeoutMs: commandMsMax,
      env: helmFolders(),
    });
    const images = parseAllDocuments(text).flatMap((document) => imagesOf(document.toJS()));
    expect(new Set(images.filter((image) => image.includes("heliograph")))).toEqual(new Set([releasedImage]));
  });

  test("has what Artifact Hub reads beside it", async () => {
    const manifest = JSON.parse(await registry.crane(["manifest", `${chartIn(place)}:artifacthub.io`])) as Manifest;
    const [layer] = manifest.layers;
    const text = await succeed(
      await resolveTool("crane"),
      ["blob", "--insecure", `${chartIn(place)}@${layer?.digest}`],
      {
        timeoutMs: commandMsMax,
      },
    );
    expect(text).toBe(await readFile(join(root, "charts", "artifacthub-repo.yml"), "utf8"));
  });
});

/** helm keeps what it pulled; this keeps it out of the user's own folders. */
function helmFolders(): Readonly<Record<string, string>> {
  return { HELM_CACHE_HOME: inFolder("helm-cache"), HELM_CONFIG_HOME: inFolder("helm-config") };
}

/** Every `image` of an object, at any depth. */
function imagesOf(value: unknown): readonly string[] {
  if (typeof value !== "object" || value === null) return [];
  const own = "image" in value && typeof value.image === "string" ? [value.image] : [];
  return [...own, ...Object.values(value).flatMap(imagesOf)];
}

describeSignatures(() => ({ registry, place, pushed, folder: folder.path }));
