import { copyFile, mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Cluster, Progress } from "../cluster/cluster.ts";
import { releasedImage } from "../release/names.ts";
import { temporaryFolder } from "../support/temp-folder.ts";
import { resolveTool } from "../tools/resolve.ts";
import type { ToolName } from "../tools/tool-table.ts";
import { buildProductImage } from "./build-image.ts";

/** The checkout. */
const root = dirname(dirname(import.meta.dirname));

/**
 * Images that a cluster without a registry gets: that of the chart, that of `docs/recipes/values-node.yaml`, and the
 * store of `docs/examples/cluster`.
 */
export const clusterImages = {
  product: releasedImage,
  nats: "localhost/heliograph-nats:node",
  prometheus: "docker.io/prom/prometheus:v3.15.0",
} as const;

/** Builds the images of the product and of NATS and hands them to the nodes of a cluster. */
export async function loadClusterImages(cluster: Cluster, progress: Progress): Promise<void> {
  await inTemporaryFolder(async (folder) => {
    const product = join(folder, "product.tar");
    await buildProductImage(
      { root, tag: clusterImages.product, context: join(folder, "product"), archive: product },
      (request) => cluster.buildImage(request),
      progress,
    );
    await cluster.loadImage(product);
    await loadToolImage(cluster, folder, "nats", "nats-server");
  });
}

/** Builds the image of the examples' store and hands it to the nodes of a cluster. */
export async function loadExampleImages(cluster: Cluster): Promise<void> {
  await inTemporaryFolder((folder) => loadToolImage(cluster, folder, "prometheus", "prometheus"));
}

/** Builds an image of one program of the tests. Its Dockerfile is in the folder of that name. */
async function loadToolImage(
  cluster: Cluster,
  folder: string,
  image: "nats" | "prometheus",
  program: ToolName,
): Promise<void> {
  const archive = join(folder, `${image}.tar`);
  const context = join(folder, image);
  await mkdir(context);
  await copyFile(await resolveTool(program), join(context, program));
  const dockerfile = join(import.meta.dirname, image, "Dockerfile");
  await cluster.buildImage({ dockerfile, context, tag: clusterImages[image], archive });
  await cluster.loadImage(archive);
}

async function inTemporaryFolder(work: (path: string) => Promise<void>): Promise<void> {
  const folder = await temporaryFolder("images");
  try {
    await work(folder.path);
  } finally {
    await folder.remove();
  }
}
