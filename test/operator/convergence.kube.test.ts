import * as fc from "fast-check";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import type { Kind } from "../../crds/resource.ts";
import { isKubeError } from "../../kube/client/kube-error.ts";
import { resourceTypes } from "../../operator/resource-types.ts";
import { secretType } from "../../kube/client/resource.ts";
import { isSoak, runsOf } from "../support/soak.ts";
import { waitFor } from "../support/wait.ts";
import { settledState } from "./expected-state.ts";
import { OperatorCluster, type Replica } from "./operator-cluster.ts";

let cluster: OperatorCluster;
beforeAll(async () => {
  cluster = await OperatorCluster.start();
});
afterAll(() => cluster.stop());
afterEach(() => cluster.stopAll());

const lease = { leaseMs: 2_500, renewDeadlineMs: 2_000, retryMs: 300, callTimeoutMs: 800 };
const settleMs = 60_000;
const callsAtOnce = 8;
const sizes = {
  WebhookPartner: 120,
  MetricCatalog: 50,
  QueryClassQuota: 80,
  EventCatalog: 20,
} as const satisfies Record<Kind, number>;
const secretCount = 90;
const metricCount = 35;
const clientCount = 60;

type Step =
  /** Makes or edits an object; `of` picks what it refers to or claims, often something another has. */
  | { readonly do: "put"; readonly kind: Kind; readonly which: number; readonly of: number; readonly size: number }
  | { readonly do: "delete"; readonly kind: Kind; readonly which: number }
  | { readonly do: "secret"; readonly which: number; readonly byte: number }
  | { readonly do: "deleteSecret"; readonly which: number }
  | { readonly do: "restart"; readonly isGraceful: boolean };

const kinds = fc.constantFrom<Kind>("WebhookPartner", "WebhookPartner", "MetricCatalog", "QueryClassQuota");
const which = fc.nat({ max: 1_000 });
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 60,
    arbitrary: fc.record({
      do: fc.constant("put"),
      kind: kinds,
      which,
      of: which,
      size: fc.integer({ min: 1, max: 64 }),
    }),
  },
  { weight: 25, arbitrary: fc.record({ do: fc.constant("delete"), kind: kinds, which }) },
  { weight: 12, arbitrary: fc.record({ do: fc.constant("secret"), which, byte: fc.integer({ min: 0, max: 255 }) }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant("deleteSecret"), which }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("restart"), isGraceful: fc.boolean() }) },
);

const nameOf = (kind: Kind, number: number): string => `${kind.toLowerCase()}-${number % sizes[kind]}`;
const secretOf = (number: number): string => `secret-${number % secretCount}`;

async function put(ns: string, { kind, which: number, of, size }: Extract<Step, { do: "put" }>): Promise<void> {
  const name = nameOf(kind, number);
  if (kind === "WebhookPartner")
    await cluster.put(ns, kind, name, { "signing.keys[0].secretRef.name": secretOf(of), "delivery.maxInFlight": size });
  else if (kind === "QueryClassQuota") {
    await cluster.quota(ns, name, {
      clients: [{ clientId: `client-${of % clientCount}` }],
      limits: { maxSeries: Math.min(50, size) },
    });
  } else if (kind === "EventCatalog")
    await cluster.put(ns, kind, name, { owner: `team-${size}`, "types[0].type": `payout.kind_${of % metricCount}` });
  else {
    // A catalog that changes what a metric means names another version; to be made anew is another matter.
    await remove(ns, kind, number);
    await cluster.put(ns, kind, name, {
      "metrics[0].id": `metric_${of % metricCount}`,
      "metrics[0].maxGroupBy": 1 + (size % 4),
    });
  }
}

async function remove(ns: string, kind: Kind, number: number): Promise<void> {
  await cluster.client.delete(resourceTypes[kind], { namespace: ns, name: nameOf(kind, number) }).catch(ignoreMissing);
}

function ignoreMissing(error: unknown): void {
  if (!isKubeError(error, "notFound")) throw error;
}

/** A namespace, its replica, and one that takes over now and then. */
class Scene {
  readonly ns: string;
  readonly #options: Parameters<OperatorCluster["replica"]>[1];
  #replica: Replica | undefined;
  #restarting: Promise<void> | undefined;

  constructor(ns: string, podUrl: string) {
    this.ns = ns;
    this.#options = { runtime: { urls: [podUrl] }, lease };
  }

  async start(): Promise<void> {
    this.#replica = await cluster.replica(this.ns, this.#options);
  }

  async take(one: Step): Promise<void> {
    switch (one.do) {
      case "put":
        return await put(this.ns, one);
      case "delete":
        return await remove(this.ns, one.kind, one.which);
      case "secret":
        return await cluster.secret(this.ns, secretOf(one.which), { hmac: one.byte });
      case "deleteSecret":
        await cluster.client.delete(secretType, { namespace: this.ns, name: secretOf(one.which) }).catch(ignoreMissing);
        return;
      case "restart":
        this.#restarting ??= this.#restart(one.isGraceful).finally(() => (this.#restarting = undefined));
        return await this.#restarting;
    }
  }

  async stop(): Promise<void> {
    await this.#restarting;
    await this.#replica?.stop();
  }

  async #restart(isGraceful: boolean): Promise<void> {
    if (!isGraceful) this.#replica?.client.kill();
    await this.#replica?.stop();
    await this.start();
  }
}

test(
  "however hundreds of objects and Secrets are edited, deleted and made anew, the end is what compile says",
  async () => {
    const history = fc.array(step, { minLength: 250, maxLength: 400, size: "max" });
    let runs = 0;
    await fc.assert(
      fc.asyncProperty(history, async (steps) => {
        runs += 1;
        const ns = await cluster.namespace();
        const pod = await cluster.pod(ns, "rt-0");
        const scene = new Scene(ns, pod.url);
        const first: readonly Step[] = [
          ...Array.from({ length: secretCount }, (_, index): Step => ({ do: "secret", which: index, byte: index })),
          ...(Object.keys(sizes) as Kind[]).flatMap((kind) =>
            Array.from({ length: sizes[kind] }, (_, index): Step => ({
              do: "put",
              kind,
              which: index,
              of: index,
              size: 8,
            })),
          ),
        ];
        await scene.start();
        const waiting = [...first, ...steps];
        await Promise.all(
          Array.from({ length: callsAtOnce }, async () => {
            for (let one = waiting.shift(); one !== undefined; one = waiting.shift()) await scene.take(one);
          }),
        );
        const { statuses } = await settledState(cluster, ns, settleMs);
        const partners = Object.entries(statuses).filter(
          ([key, text]) => key.startsWith("WebhookPartner/") && /Programmed=(?:True|False\/Held)/u.test(text),
        ).length;
        await waitFor(() => pod.config?.partners.length === partners, {
          timeoutMs: settleMs,
          what: "the pod to apply it",
        });
        expect(pod.faultsSeen).toEqual([]);
        await scene.stop();
        await pod.stop();
      }),
      // To shrink such a history would take an hour, and the seed alone brings it back.
      { numRuns: runsOf(10), endOnFailure: true },
    );
    expect(runs).toBe(runsOf(10));
  },
  isSoak ? 900_000 : 240_000,
);
