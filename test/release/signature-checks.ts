import { cp, mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { version } from "../../runtime/version.ts";
import { resolveTool } from "../tools/resolve.ts";
import { run, succeed } from "../tools/run.ts";
import type { LocalRegistry } from "./local-registry.ts";
import { chartIn, chartsIn, imageIn, releasedImage } from "./names.ts";
import type { Pushed } from "./push.ts";
import { identityOf, sign, verify } from "./sign.ts";

const root = dirname(dirname(import.meta.dirname));
const commandMsMax = 60_000;

/** A release in a registry. */
interface Released {
  readonly registry: LocalRegistry;
  /** Host and folder of what was pushed. */
  readonly place: string;
  readonly pushed: Pushed;
  /** For keys and archives. */
  readonly folder: string;
}

interface Index {
  readonly manifests: ReadonlyArray<{ readonly digest: string }>;
}

/** Tests of signatures by a key: what they cover, and what they do not. They tamper with the release: run them last. */
export function describeSignatures(given: () => Released): void {
  describe("signatures by a key", () => {
    const signing = (name: string) => ({ key: join(given().folder, name), plainHttp: true });
    const verified = (reference: string, name = "own.pub"): Promise<void> => verify(reference, version, signing(name));

    beforeAll(async () => {
      process.env["COSIGN_PASSWORD"] = "of the tests";
      for (const name of ["own", "other"]) {
        const args = ["generate-key-pair", "--output-key-prefix", join(given().folder, name)];
        await succeed(await resolveTool("cosign"), args, { timeoutMs: commandMsMax });
      }
      for (const reference of [given().pushed.image, given().pushed.chart]) await sign(reference, signing("own.key"));
    });

    afterAll(() => {
      delete process.env["COSIGN_PASSWORD"];
    });

    test("are verified for the image, each of its platforms, and the chart", async () => {
      const { manifests } = JSON.parse(await given().registry.crane(["manifest", given().pushed.image])) as Index;
      const images = manifests.map(({ digest }) => `${imageIn(given().place)}@${digest}`);
      const tags = [`${imageIn(given().place)}:${version}`, `${chartIn(given().place)}:${version}`];
      for (const reference of [given().pushed.image, given().pushed.chart, ...tags, ...images])
        await expect(verified(reference)).resolves.toBeUndefined();
    });

    test("without a key are verified by the identity that docs/how-to/releases.md names", async () => {
      const page = await readFile(join(root, "docs", "how-to", "releases.md"), "utf8");
      const [command = ""] = /^cosign verify [^`]+/mu.exec(page) ?? [];
      const args = command.split(/[\s\\]+/u).filter((word) => word !== "");
      expect(args.slice(2)).toEqual([releasedImage, ...identityOf(version)]);
    });

    test("of another key are refused", async () => {
      await expect(verified(given().pushed.image, "other.pub")).rejects.toThrow(/accepted signatures do not match/u);
      await expect(verified(given().pushed.chart, "other.pub")).rejects.toThrow(/accepted signatures do not match/u);
    });

    test("do not cover a tampered image under the same tag, also with the signatures copied to it", async () => {
      const tag = `${imageIn(given().place)}:${version}`;
      const layer = await given().registry.layer("tampered", "something else");
      const tampered = await given().registry.crane([
        "append",
        "--base",
        given().pushed.image,
        "--new_layer",
        layer,
        "--new_tag",
        tag,
      ]);
      expect(tampered).not.toBe(given().pushed.image);
      await expect(verified(tag)).rejects.toThrow(/no signatures found/u);
      expect(await copySignatures(given().registry, given().pushed.image, tampered)).toBeGreaterThan(0);
      await expect(verified(tag)).rejects.toThrow(/artifact digest does not match/u);
      await verified(given().pushed.image);
    });

    test("do not cover a tampered chart of the same version, also with the signatures copied to it", async () => {
      const tag = `${chartIn(given().place)}:${version}`;
      await pushTamperedChart(given());
      const tampered = `${chartIn(given().place)}@${await given().registry.crane(["digest", tag])}`;
      expect(tampered).not.toBe(given().pushed.chart);
      await expect(verified(tag)).rejects.toThrow(/no signatures found/u);
      expect(await copySignatures(given().registry, given().pushed.chart, tampered)).toBeGreaterThan(0);
      await expect(verified(tag)).rejects.toThrow(/artifact digest does not match/u);
      await verified(given().pushed.chart);
    });
  });
}

/** Gives a digest what the registry holds about another one; answers how many tags that were. */
async function copySignatures(registry: LocalRegistry, from: string, to: string): Promise<number> {
  const [repository = ""] = from.split("@");
  const [own = "", other = ""] = [from, to].map((reference) => reference.split("@")[1]?.replace(":", "-"));
  const args = ["ls", "--insecure", repository];
  const tags = await succeed(await resolveTool("crane"), args, { timeoutMs: commandMsMax });
  const signatures = tags.split("\n").filter((tag) => tag.startsWith(own));
  for (const tag of signatures)
    await registry.crane(["copy", `${repository}:${tag}`, `${repository}:${tag.replace(own, other)}`]);
  return signatures.length;
}

async function pushTamperedChart({ folder, place }: Released): Promise<void> {
  const copy = join(folder, "tampered-chart", "heliograph");
  await cp(join(root, "charts", "heliograph"), copy, { recursive: true });
  await writeFile(join(copy, "templates", "NOTES.txt"), "something else\n");
  const archives = join(folder, "tampered-archive");
  await mkdir(archives);
  const helm = await resolveTool("helm");
  await succeed(helm, ["package", copy, "--destination", archives], { timeoutMs: commandMsMax });
  const args = ["push", join(archives, `heliograph-${version}.tgz`), `oci://${chartsIn(place)}`, "--plain-http"];
  expect((await run(helm, args, { timeoutMs: commandMsMax })).code).toBe(0);
}
