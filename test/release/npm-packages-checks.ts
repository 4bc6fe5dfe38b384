import { readFile, symlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { version } from "../../runtime/version.ts";
import { temporaryFolder, type TemporaryFolder } from "../support/temp-folder.ts";
import { run, succeed } from "../tools/run.ts";

const root = dirname(dirname(import.meta.dirname));
const commandMsMax = 60_000;

/** Tests of the packed command; the kit has a suite of its own. @param archives the folder that will hold them */
export function describeNpmPackages(archives: () => string): void {
  let folder: TemporaryFolder;
  beforeAll(async () => {
    folder = await temporaryFolder("npm");
  });
  afterAll(async () => folder?.remove());
  describeCommand(
    () => folder.path,
    () => join(archives(), `heliograph-dev-cli-${version}.tgz`),
  );
}

interface Manifest {
  readonly dependencies?: Readonly<Record<string, string>>;
}

async function manifestOf(path: string): Promise<Manifest> {
  return JSON.parse(await readFile(join(path, "package.json"), "utf8")) as Manifest;
}

function describeCommand(folder: () => string, archive: () => string): void {
  describe("the npm package of the command", () => {
    const unpacked = (): string => join(folder(), "package");

    beforeAll(async () => {
      await succeed("tar", ["-xf", archive(), "-C", folder()], { timeoutMs: commandMsMax });
      // As npm would install them: the manifest names exactly the packages that the product has.
      await symlink(join(root, "node_modules"), join(unpacked(), "node_modules"));
    });

    test("needs the packages of the product, and no others", async () => {
      const { dependencies } = await manifestOf(unpacked());
      expect(dependencies).toEqual((await manifestOf(root)).dependencies);
    });

    test("holds the built console", async () => {
      const page = await readFile(join(unpacked(), "dist", "console", "index.html"), "utf8");
      expect(page).toContain("/console/assets/");
    });

    test("runs: it says its version and validates the examples", async () => {
      const program = join(unpacked(), "bin", "heliograph.js");
      const heliograph = (...args: readonly string[]) =>
        run(process.execPath, [program, ...args], { timeoutMs: commandMsMax });
      expect(await heliograph("--version")).toMatchObject({ code: 0, stdout: `${version}\n` });
      expect(await heliograph("validate", join(root, "docs", "examples"))).toMatchObject({ code: 0 });
    });
  });
}
