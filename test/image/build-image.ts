import { join } from "node:path";
import { version } from "../../runtime/version.ts";
import type { BuildRequest, Progress } from "../cluster/cluster.ts";
import { run } from "../tools/run.ts";
import { writeImageFiles } from "./files.ts";

/** What to build the product's image as. */
interface ProductImage {
  /** Root of the checkout, with its packages installed. */
  readonly root: string;
  /** The image's whole name. */
  readonly tag: string;
  /** Folder for the files that the image adds to its base. */
  readonly context: string;
  /** Path of the archive to write. */
  readonly archive: string;
  /** An image with Node 24. @default the builder's own */
  readonly base?: string;
}

/** Builds an image from a Dockerfile; providers of clusters have one. */
type BuildImage = (request: BuildRequest) => Promise<void>;

const gitMsMax = 10_000;

/**
 * Builds the product's image into an archive. Equal checkouts and bases give equal images.
 *
 * @throws Error with the compiler's or the builder's last lines
 */
export async function buildProductImage(
  image: ProductImage,
  buildImage: BuildImage,
  progress: Progress,
): Promise<void> {
  const { root, tag, context, archive, base } = image;
  progress("compiling the product");
  await writeImageFiles(root, context);
  const buildArgs = {
    VERSION: version,
    REVISION: await revisionOf(root),
    ...(base === undefined ? {} : { BASE_IMAGE: base }),
  };
  await buildImage({ dockerfile: join(root, "Dockerfile"), context, tag, archive, buildArgs });
}

/** The checked-out commit; `unknown` where there is no repository. */
export async function revisionOf(root: string): Promise<string> {
  const { code, stdout } = await run("git", ["rev-parse", "HEAD"], { cwd: root, timeoutMs: gitMsMax });
  return code === 0 ? stdout.trim() : "unknown";
}
