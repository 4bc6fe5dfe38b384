import type { Pods } from "./pods.ts";
import type { Siblings } from "./siblings.ts";

/**
 * Pods of which the processes of this pod are reached over their supervisor, and all others as before.
 *
 * @param siblings undefined when this process is the only one of its pod
 */
export function nearestPods(pods: Pods, siblings: Siblings | undefined): Pods {
  if (siblings === undefined) return pods;
  const isSibling = (name: string): boolean => siblings.names.includes(name);
  const current = currentNames(pods, siblings);
  const wayTo = (name: string): Pods => (isSibling(name) ? siblings : pods);
  return {
    own: pods.own,
    live: () => current().all,
    // Siblings alone are no connection to the pods elsewhere.
    isConnected: () => pods.isConnected() || (siblings.isConnected() && current().elsewhere.length === 0),
    request: (pod, ...message) => wayTo(pod).request(pod, ...message),
    publish: (pod, ...message) => wayTo(pod).publish(pod, ...message),
    serve(topic, handler) {
      pods.serve(topic, handler);
      siblings.serve(topic, handler);
    },
  };
}

interface Names {
  readonly elsewhere: readonly string[];
  /** Sorted. */
  readonly all: readonly string[];
}

/** The names of the live pods. They are made again when either list is another array; each quota check reads them. */
function currentNames(pods: Pods, siblings: Siblings): () => Names {
  const made = { near: siblings.live(), far: pods.live() };
  let names = namesOf(made.near, made.far, siblings.names);
  return () => {
    const [near, far] = [siblings.live(), pods.live()];
    if (near === made.near && far === made.far) return names;
    Object.assign(made, { near, far });
    names = namesOf(near, far, siblings.names);
    return names;
  };
}

function namesOf(near: readonly string[], far: readonly string[], siblings: readonly string[]): Names {
  const elsewhere = far.filter((name) => !siblings.includes(name));
  return { elsewhere, all: [...near, ...elsewhere].sort() };
}
