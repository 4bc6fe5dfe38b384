import { createHash } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { parse } from "yaml";
import { temporaryFolder } from "../support/temp-folder.ts";
import { krewArchive, writeKrewManifest } from "./krew.ts";

test("the manifest for krew names the archive of the version with its checksum", async () => {
  const folder = await temporaryFolder("krew");
  onTestFinished(() => folder.remove());
  const archive = join(folder.path, krewArchive("1.2.3"));
  await writeFile(archive, "archive");
  await writeKrewManifest("1.2.3", archive, folder.path);
  const manifest = parse(await readFile(join(folder.path, "heliograph.yaml"), "utf8")) as unknown;
  expect(manifest).toMatchObject({
    metadata: { name: "heliograph" },
    spec: {
      version: "v1.2.3",
      platforms: [
        {
          uri: "https://github.com/heliograph-dev/heliograph/releases/download/v1.2.3/kubectl-heliograph-1.2.3.tar.gz",
          sha256: createHash("sha256").update("archive").digest("hex"),
          bin: "kubectl-heliograph/bin/kubectl-heliograph.js",
        },
      ],
    },
  });
});
