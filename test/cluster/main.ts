import { loadClusterImages, loadExampleImages } from "../image/cluster-images.ts";
import { clusterProvider } from "./provider.ts";

/**
 * Starts or ends the cluster that `CLUSTER` chooses, or hands it the images of the product, of NATS and of the
 * examples' store. Progress goes to standard error; the last line of `up` and `load`, and the only one on standard
 * output, is the path of the kubeconfig. A first Ctrl-C takes down what was started so far.
 */
async function main(command: string | undefined): Promise<void> {
  const startMs = performance.now();
  const progress = (line: string): void => {
    process.stderr.write(`cluster: ${((performance.now() - startMs) / 1000).toFixed(1)} s: ${line}\n`);
  };
  const provider = await clusterProvider();
  if (command === "down") {
    await provider.down(progress);
    progress("nothing is left");
    return;
  }
  if (command !== "up" && command !== "load") throw new Error("usage: node test/cluster/main.ts up|load|down");
  const interrupt = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const)
    process.once(signal, () => interrupt.abort(new Error(`interrupted by ${signal}; what was started is taken down`)));
  const cluster = await provider.up(progress, interrupt.signal);
  if (command === "load") {
    await loadClusterImages(cluster, progress);
    await loadExampleImages(cluster);
  }
  progress("the cluster is ready; for kubectl and helm:");
  process.stdout.write(`${cluster.kubeconfig}\n`);
}

if (import.meta.main) {
  await main(process.argv[2]).catch((error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  });
}
