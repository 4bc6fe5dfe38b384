import { isKubeError } from "../../kube/client/kube-error.ts";
import { type ResourceObject } from "../../operator/resource-types.ts";
import { secretType } from "../../kube/client/resource.ts";
import { partnerKey } from "../../runtime/webhooks/ids.ts";
import type { OperatorCluster } from "../operator/operator-cluster.ts";
import { waitFor } from "../support/wait.ts";
import { PartnerTimeline, type Desired } from "./model.ts";
import { keyText, type Recipient } from "./recipients.ts";
import { tenants, type Slot, type Step, type WalkState } from "./walk.ts";

/** The operator reads the policy once a second, on a busy machine later: what is made before may meet an older one. */
const policyLagMs = 10_000;
/** Longer than the API server is away in a walk. */
const requestPatienceMs = 60_000;

type SlotStep = Extract<Step, { readonly next: Slot }>;

/** The partner object of a slot. */
interface Current {
  readonly timeline: PartnerTimeline;
  readonly slot: Slot;
  readonly generation: number;
}

/** What a policy withdrew before it changed for a namespace. */
interface PolicyBefore {
  readonly namespace: Slot["namespace"];
  readonly withdrawn: WalkState["withdrawn"];
  readonly untilMs: number;
}

/** The partner objects of the walk and what each was promised. */
export class Partners {
  readonly timelines: PartnerTimeline[][];
  readonly #cluster: OperatorCluster;
  readonly #recipients: readonly Recipient[];
  readonly #current = new Map<number, Current>();
  /** Older policies that the operator may still have, oldest first. */
  #policiesBefore: readonly PolicyBefore[] = [];

  constructor(cluster: OperatorCluster, recipients: readonly Recipient[]) {
    this.#cluster = cluster;
    this.#recipients = recipients;
    this.timelines = recipients.map(() => []);
  }

  all(): readonly PartnerTimeline[] {
    return this.timelines.flat();
  }

  /** Subjects with the partner that each token in them stands for. */
  namesIn(subjects: readonly string[]): readonly string[] {
    return subjects.map((subject) => {
      const owner = this.all().find(({ uid }) => subject.includes(partnerKey(uid)));
      if (owner === undefined) return `${subject} of no partner`;
      return `${subject} of ${owner.label} (${owner.isGone ? "deleted" : "there"})`;
    });
  }

  /** Makes the partner object of a slot, with its Secrets. */
  async make(slot: Slot, withdrawn: WalkState["withdrawn"]): Promise<void> {
    await this.#secrets(slot);
    const beganMs = Date.now();
    const { uid, generation } = (await this.#put(slot)).metadata;
    const timeline = new PartnerTimeline(uid, `${slot.namespace}/${slot.name}`);
    for (const before of this.#policiesBefore) {
      if (before.namespace !== slot.namespace || beganMs >= before.untilMs) continue;
      timeline.began(beganMs, desiredOf(slot, before.withdrawn, generation));
    }
    timeline.began(beganMs, desiredOf(slot, withdrawn, generation));
    this.timelines[slot.index]?.push(timeline);
    this.#current.set(slot.index, { timeline, slot, generation });
  }

  /** Applies a step to the resource and the Secrets of its slot. */
  async applyStep({ verb, slot: index, next, makesFirst }: SlotStep, { withdrawn }: WalkState): Promise<void> {
    if (verb === "create") return this.make(next, withdrawn);
    if (verb === "delete") return this.#remove(index);
    if (verb === "take_secret" || verb === "return_secret") return this.#toggleSecret(next, withdrawn);
    if (verb === "recreate" || verb === "rename" || verb === "move")
      return this.#replace(next, withdrawn, makesFirst === true);
    return this.#edit(next, withdrawn);
  }

  /** Says that the policy of a namespace becomes another one than `before`. */
  policyBegan(
    step: Extract<Step, { readonly namespace: unknown }>,
    before: WalkState["withdrawn"],
    { withdrawn }: WalkState,
  ): void {
    const untilMs = Date.now() + policyLagMs;
    this.#policiesBefore = [
      ...this.#policiesBefore.filter((one) => Date.now() < one.untilMs),
      { namespace: step.namespace, withdrawn: before, untilMs },
    ];
    for (const { timeline, slot, generation } of this.#current.values()) {
      const isAffected = slot.namespace === step.namespace && slot.tenants.includes(step.tenant);
      if (isAffected) timeline.began(Date.now(), desiredOf(slot, withdrawn, generation));
    }
  }

  async #replace(next: Slot, withdrawn: WalkState["withdrawn"], makesFirst: boolean): Promise<void> {
    const old = this.#current.get(next.index);
    const removeOld = async (): Promise<void> => (old === undefined ? undefined : this.#delete(old, withdrawn));
    if (!makesFirst) await removeOld();
    await this.make(next, withdrawn);
    if (makesFirst) await removeOld();
  }

  async #edit(next: Slot, withdrawn: WalkState["withdrawn"]): Promise<void> {
    await this.#secrets(next);
    const current = this.#current.get(next.index);
    if (current === undefined) throw new Error(`recipient ${next.index} has no partner to edit`);
    // No shard holds this generation: nothing settles before the response has the true one.
    const change = current.timeline.began(Date.now(), desiredOf(next, withdrawn, Number.POSITIVE_INFINITY));
    const { generation } = (await this.#put(next)).metadata;
    change.applied(generation);
    this.#current.set(next.index, { timeline: current.timeline, slot: next, generation });
  }

  async #toggleSecret(next: Slot, withdrawn: WalkState["withdrawn"]): Promise<void> {
    const current = this.#current.get(next.index);
    if (current !== undefined) {
      current.timeline.began(Date.now(), desiredOf(next, withdrawn, current.generation));
      this.#current.set(next.index, { ...current, slot: next });
    }
    if (!next.lacksSecret) return this.#secrets(next);
    const name = secretName(next, next.keys[0] ?? "");
    await persist(`delete Secret ${name}`, () =>
      this.#cluster.client.delete(secretType, { namespace: next.namespace, name }).catch(ignoreMissing),
    );
  }

  async #remove(index: number): Promise<void> {
    const current = this.#current.get(index);
    if (current === undefined) return;
    this.#current.delete(index);
    await this.#delete(current, {});
  }

  async #delete({ slot, timeline, generation }: Current, withdrawn: WalkState["withdrawn"]): Promise<void> {
    timeline.began(Date.now(), { ...desiredOf(slot, withdrawn, generation), exists: false });
    const remove = (): Promise<void> =>
      this.#cluster.remove(slot.namespace, "WebhookPartner", slot.name).catch(ignoreMissing);
    await persist(`delete ${timeline.label}`, remove);
  }

  async #secrets(slot: Slot): Promise<void> {
    for (const [index, key] of slot.keys.entries()) {
      this.#recipients[slot.index]?.learn(key);
      if (index === 0 && slot.lacksSecret) continue;
      const name = secretName(slot, key);
      await persist(`apply Secret ${name}`, () =>
        this.#cluster.secret(slot.namespace, name, { hmac: keyText(slot.index, key) }),
      );
    }
  }

  async #put(slot: Slot): Promise<ResourceObject> {
    const keys = slot.keys.map((key, index) => {
      const name = index === 0 && slot.hasTypo ? `${secretName(slot, key)}-typo` : secretName(slot, key);
      return { id: key, secretRef: { name, key: "hmac" } };
    });
    const changes = {
      "endpoint.url": this.#recipients[slot.index]?.url,
      "endpoint.timeoutSeconds": 2,
      signing: { keys },
      subscriptions: [
        {
          name: "all",
          types: slot.types,
          tenants: slot.tenants,
          ...(slot.matchers.length === 0 ? {} : { matchers: slot.matchers }),
          ...(slot.payload === undefined ? {} : { payload: slot.payload }),
        },
      ],
      networks: { allowCidrs: ["127.0.0.0/8"], allowPlaintext: true },
      delivery: { maxInFlight: slot.maxInFlight },
      retry: { scheduleSeconds: [1, 1, 2, 2, 3, 3, 5, 5, 5, 5], maxAgeSeconds: 86_400, jitterPercent: 0 },
      state: slot.isPaused ? "Paused" : "Active",
    };
    const { namespace, name } = slot;
    return persist(`apply ${namespace}/${name}`, () => this.#cluster.put(namespace, "WebhookPartner", name, changes));
  }
}

function secretName({ index }: Slot, key: string): string {
  return `recipient-${index}-${key}`;
}

function desiredOf(slot: Slot, withdrawn: WalkState["withdrawn"], generation: number): Desired {
  return {
    exists: true,
    subscription: {
      types: slot.types,
      tenants: slot.tenants,
      matchers: slot.matchers,
      payload: slot.payload === undefined ? [] : [slot.payload],
    },
    granted: tenants.filter((tenant) => tenant !== withdrawn[slot.namespace]),
    isReadable: !slot.hasTypo && !slot.lacksSecret,
    generation,
    keys: slot.keys,
  };
}

/** Repeats an idempotent request until it succeeds. */
export function persist<T>(what: string, request: () => Promise<T>): Promise<T> {
  return waitFor(async () => ({ answer: await request() }), { timeoutMs: requestPatienceMs, pollMs: 200, what }).then(
    ({ answer: response }) => response,
  );
}

export function ignoreMissing(error: unknown): void {
  if (!isKubeError(error, "notFound")) throw error;
}
