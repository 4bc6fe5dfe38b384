import { dirname, join, relative } from "node:path";
import { parseArgs } from "node:util";
import { buildWithBuildah } from "../cluster/images.ts";
import { buildWithDocker } from "../cluster/kind.ts";
import { dockerAnswers } from "../cluster/provider.ts";
import { releasedImage } from "../release/names.ts";
import { buildProductImage } from "./build-image.ts";

/** Builds the image with Docker where it works, else with buildah on the base that is assembled here. */
async function main(args: readonly string[]): Promise<void> {
  const options = { tag: { type: "string", default: releasedImage }, base: { type: "string" } } as const;
  const { tag, base } = parseArgs({ args: [...args], options }).values;
  const root = dirname(dirname(import.meta.dirname));
  const archive = join(root, "dist", "image.tar");
  const progress = (line: string): void => void process.stderr.write(`image: ${line}\n`);
  const withDocker = await dockerAnswers();
  const image = { root, tag, context: join(root, "dist", "image"), archive, ...(base === undefined ? {} : { base }) };
  await buildProductImage(
    image,
    withDocker ? buildWithDocker : (request) => buildWithBuildah(request, progress),
    progress,
  );
  process.stdout.write(`${relative(process.cwd(), archive)}\n`);
}

if (import.meta.main) {
  await main(process.argv.slice(2)).catch((error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  });
}
