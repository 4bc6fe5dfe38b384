import { hash } from "node:crypto";

/**
 * The home of something among pods: the one whose hash with its name is the greatest (rendezvous hashing). When a pod
 * comes or goes, only what it gets or had changes its home.
 */
export function ownerOf(name: string, pods: readonly string[]): string | undefined {
  const weighed = pods.map((pod) => ({ pod, weight: hash("sha256", `${pod}\n${name}`, "hex") }));
  return weighed.sort((a, b) => (a.weight < b.weight ? 1 : -1))[0]?.pod;
}
