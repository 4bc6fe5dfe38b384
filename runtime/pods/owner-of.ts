import { hash } from "node:crypto";

/**
 * The owner of a name among pods: the pod whose hash with the name is the greatest (rendezvous hashing). When a pod
 * starts or ends, only the names that it owns change their owner.
 */
export function ownerOf(name: string, pods: readonly string[]): string | undefined {
  const weighed = pods.map((pod) => ({ pod, weight: hash("sha256", `${pod}\n${name}`, "hex") }));
  return weighed.sort((a, b) => (a.weight < b.weight ? 1 : -1))[0]?.pod;
}
