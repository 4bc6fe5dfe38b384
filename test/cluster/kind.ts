import { mkdir, rm } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { resolveTool } from "../tools/resolve.ts";
import { succeed as succeedWithin } from "../tools/run.ts";
import type { BuildRequest, Cluster, ClusterProvider } from "./cluster.ts";
import { existingCluster } from "./kubeconfig.ts";

const clusterName = "heliograph";
const configPath = fileURLToPath(new URL("./kind.yaml", import.meta.url));
const baseImage = "node:24-bookworm-slim";
const commandMsMax = 15 * 60_000;

/**
 * A cluster of kind in Docker, for machines that have it. It was written from kind's documentation and has never been
 * run, for want of a machine with Docker.
 */
export function kindProvider(env: Readonly<Record<string, string | undefined>> = process.env): ClusterProvider {
  const state = env["XDG_STATE_HOME"] ?? join(homedir(), ".local", "state");
  const kubeconfig = join(state, "heliograph", "kind", "kubeconfig");
  return {
    up: async (progress) => {
      const kind = await resolveTool("kind");
      await mkdir(dirname(kubeconfig), { recursive: true });
      const name = ["--name", clusterName, "--kubeconfig", kubeconfig];
      const clusters = (await succeed(kind, ["get", "clusters"])).split("\n");
      const runs = clusters.includes(clusterName);
      progress(runs ? "kind's cluster runs already" : "starting kind's cluster");
      const create = ["create", "cluster", ...name, "--config", configPath, "--wait", "2m"];
      await succeed(kind, runs ? ["export", "kubeconfig", ...name] : create);
      return kindCluster(kind, kubeconfig);
    },
    down: async (progress) => {
      progress("ending kind's cluster");
      await succeed(await resolveTool("kind"), [
        "delete",
        "cluster",
        "--name",
        clusterName,
        "--kubeconfig",
        kubeconfig,
      ]);
      await rm(dirname(kubeconfig), { recursive: true, force: true });
    },
  };
}

async function kindCluster(kind: string, kubeconfig: string): Promise<Cluster> {
  return {
    ...(await existingCluster(kubeconfig)),
    buildImage: buildWithDocker,
    loadImage: async (archive) => {
      await succeed(kind, ["load", "image-archive", archive, "--name", clusterName]);
    },
  };
}

/**
 * Builds an image with Docker, from the base that kind uses unless another is named. @throws Error with its last lines
 */
export async function buildWithDocker(request: BuildRequest): Promise<void> {
  const values = Object.entries({ BASE_IMAGE: baseImage, ...request.buildArgs });
  const args = values.flatMap(([name, value]) => ["--build-arg", `${name}=${value}`]);
  await succeed("docker", ["build", ...args, "--file", request.dockerfile, "--tag", request.tag, request.context]);
  await succeed("docker", ["save", "--output", request.archive, request.tag]);
}

function succeed(command: string, args: readonly string[]): Promise<string> {
  return succeedWithin(command, args, { timeoutMs: commandMsMax });
}
