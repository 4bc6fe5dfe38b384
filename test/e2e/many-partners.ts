import { randomBytes } from "node:crypto";
import { partner } from "./manifests.ts";

interface ManyPartners {
  /** Keys of the partner program, by the last segment of the path. */
  readonly keys: Readonly<Record<string, string>>;
  /** The Secret of all keys. */
  readonly secret: object;
  /** Names of the resources. */
  readonly names: readonly string[];
  /** The resources, in lists that kubectl creates within its time limit. */
  readonly lists: readonly object[];
}

const listMax = 100;

/** Partners `p0`, `p1` and so on, each with its own key and event type: `payout.p0` for the first. */
export function manyPartners(namespace: string, count: number): ManyPartners {
  const names = Array.from({ length: count }, (_, index) => `p${index}`);
  const keys = Object.fromEntries(names.map((name) => [name, randomBytes(32).toString("hex")]));
  const items = names.map((name) => partnerOf(namespace, name));
  return {
    keys,
    names,
    secret: { apiVersion: "v1", kind: "Secret", metadata: { name: "many-keys" }, stringData: keys },
    lists: Array.from({ length: Math.ceil(count / listMax) }, (_, index) => {
      return { apiVersion: "v1", kind: "List", items: items.slice(index * listMax, (index + 1) * listMax) };
    }),
  };
}

function partnerOf(namespace: string, name: string): object {
  const one = partner(namespace, [name], `/webhooks/v1/${name}`) as { readonly spec: object };
  return {
    ...one,
    metadata: { name },
    spec: {
      ...one.spec,
      signing: { keys: [{ id: name, secretRef: { name: "many-keys", key: name } }] },
      subscriptions: [{ name: "payouts", types: [`payout.${name}`], tenants: ["lumen"] }],
    },
  };
}
