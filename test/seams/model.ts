import { isDeepStrictEqual } from "node:util";
import { meets, type EventFacts, type Matcher, type Payload } from "./contracts.ts";

/** What a partner subscribes to. */
export interface Subscription {
  readonly types: readonly string[];
  readonly tenants: readonly string[];
  /** Conditions that all must be met. @default none */
  readonly matchers?: readonly Matcher[];
  /** Selections of the event that are applied one after the other. @default the whole event is sent */
  readonly payload?: readonly Payload[];
}

/** What a pod may route to a partner: its subscription, or nothing because the partner is not in the configuration. */
export type Routing = Subscription | "out";

/** What the resource, its Secrets and the policy say of one partner object. */
export interface Desired {
  readonly exists: boolean;
  readonly subscription: Subscription;
  /** Tenants that the policy grants to its namespace. */
  readonly granted: readonly string[];
  /** Whether every Secret that it refers to is there. */
  readonly isReadable: boolean;
  /** `metadata.generation`; infinite before the response of the API server. */
  readonly generation: number;
  /** Ids of its signing keys. */
  readonly keys: readonly string[];
}

/** What the published shards say of a partner object. */
export interface Seen {
  readonly generation: number;
  readonly subscription: Subscription;
  readonly keys: readonly string[];
  /** Neither held nor a last good version. */
  readonly isPlain: boolean;
}

/** The partners of a configuration that a pod routed by, by uid. */
export type RoutedPartners = ReadonlyMap<string, Seen>;

interface Change {
  readonly beganMs: number;
  settledMs?: number;
  /** What may be routed once the change is in force. Several where the contract leaves it open. */
  readonly targets: readonly Routing[];
  desired: Desired;
  /** More than 0 when the change before was not in force: an older state of the shards could be taken for this one. */
  readonly quietMs: number;
}

/** Whether an event must, must not or may be delivered to a partner. */
export type Expectation = "must" | "must_not" | "either";

/** What pods may know of a partner object from its earlier states. */
interface Known {
  readonly wasInForce: "no" | "maybe" | "yes";
  readonly mayBeKnown: boolean;
}

/** Longer than the operator and its writes lag behind while the API server answers. */
const quietMsAfterOverlap = 2_500;

/**
 * What a partner object is promised over time. A change is under way from before the first request to the API server
 * until every pod runs shards that hold it. An event that is routed meanwhile may be treated either way.
 */
export class PartnerTimeline {
  readonly uid: string;
  readonly label: string;
  readonly #changes: Change[] = [];
  #wasInForce: "no" | "maybe" | "yes" = "no";
  #lastGood: readonly Subscription[] = [];
  #matchedSinceMs: number | undefined;
  /** An earlier state, or this one, may have put the partner into the configuration. */
  #mayBeKnown = false;
  #seen: Seen | undefined;

  /** @param label `namespace/name` */
  constructor(uid: string, label: string) {
    this.uid = uid;
    this.label = label;
  }

  get desired(): Desired | undefined {
    return this.#changes.at(-1)?.desired;
  }

  get isSettled(): boolean {
    return this.#changes.at(-1)?.settledMs !== undefined;
  }

  /** Unix milliseconds since which the last change is under way; undefined when it is in force. */
  get pendingSinceMs(): number | undefined {
    const last = this.#changes.at(-1);
    return last?.settledMs === undefined ? last?.beganMs : undefined;
  }

  /** Whether the partner object is gone and no pod knows it any more. */
  get isGone(): boolean {
    return this.isSettled && this.desired?.exists === false;
  }

  /** A change begins; `beganMs` is before its first request. `applied` of the result takes its generation. */
  began(beganMs: number, desired: Desired): { applied(generation: number): void } {
    const last = this.#changes.at(-1);
    const overlaps = last !== undefined && last.settledMs === undefined;
    if (overlaps && isGood(last.desired)) {
      if (this.#wasInForce === "no") this.#wasInForce = "maybe";
      this.#lastGood = [...this.#lastGood, last.desired.subscription];
    }
    const known = { wasInForce: this.#wasInForce, mayBeKnown: this.#mayBeKnown || !desired.isReadable };
    const targets = routings(desired, known, this.#lastGood);
    this.#mayBeKnown ||= isPermitted(desired.subscription, desired.granted);
    const change: Change = { beganMs, targets, desired, quietMs: overlaps ? quietMsAfterOverlap : 0 };
    this.#changes.push(change);
    this.#matchedSinceMs = undefined;
    return {
      applied: (generation) => {
        change.desired = { ...desired, generation };
      },
    };
  }

  /** What every pod runs, as of `nowMs`; `seen` is undefined when the partner is not in the shards. */
  observed(nowMs: number, seen: Seen | undefined): void {
    const last = this.#changes.at(-1);
    this.#seen = seen;
    if (last === undefined || last.settledMs !== undefined) return;
    if (!isInForce(last, seen)) {
      this.#matchedSinceMs = undefined;
      return;
    }
    this.#matchedSinceMs ??= nowMs;
    if (nowMs - this.#matchedSinceMs < last.quietMs) return;
    last.settledMs = nowMs;
    if (!isGood(last.desired)) return;
    this.#wasInForce = "yes";
    this.#lastGood = [last.desired.subscription];
  }

  /** Shards could not be read in between: what matched before counts no more. */
  interrupted(): void {
    this.#matchedSinceMs = undefined;
  }

  /** The expectation for an event that was routed between these two times, Unix milliseconds. */
  expectation(event: EventFacts, fromMs: number, toMs: number): Expectation {
    const { before, possible } = this.#possible(fromMs, toMs);
    const routed = possible.flatMap(({ targets }) => targets.map((target) => target !== "out" && wants(target, event)));
    // Before its first change applies, no pod knows the object.
    if (before < 0) routed.push(false);
    if (routed.every(Boolean)) return "must";
    return routed.some(Boolean) ? "either" : "must_not";
  }

  /** The selections of what may be sent of an event that was routed between these two times. */
  payloads(event: EventFacts, fromMs: number, toMs: number): readonly (readonly Payload[])[] {
    const targets = this.#possible(fromMs, toMs).possible.flatMap((change) => change.targets);
    return targets.flatMap((target) => (target !== "out" && wants(target, event) ? [target.payload ?? []] : []));
  }

  /** Whether it leaves out fields of a class from events of a type, in all of this time. */
  excludesClass(type: string, fieldClass: string, fromMs: number, toMs: number): boolean {
    const { before, possible } = this.#possible(fromMs, toMs);
    const targets = possible.flatMap((change) => change.targets);
    return before >= 0 && targets.every((target) => target !== "out" && excludes(target, type, fieldClass));
  }

  /** Whether the object may have existed for an event that was routed between these two times. */
  mayExist(fromMs: number, toMs: number): boolean {
    return this.#possible(fromMs, toMs).possible.some(({ desired }) => desired.exists);
  }

  #possible(fromMs: number, toMs: number): { readonly before: number; readonly possible: readonly Change[] } {
    const before = this.#changes.findLastIndex(({ settledMs }) => settledMs !== undefined && settledMs <= fromMs);
    const possible = this.#changes
      .slice(Math.max(before, 0))
      .filter(({ beganMs }, index) => (index === 0 && before >= 0) || beganMs <= toMs);
    return { before, possible };
  }

  /** Changes that were under way between these two moments, one line each. */
  story(fromMs: number, toMs: number): readonly string[] {
    const time = (ms: number | undefined): string => (ms === undefined ? "never" : new Date(ms).toISOString());
    const endMs = (index: number): number =>
      this.#changes.slice(index).find(({ settledMs }) => settledMs !== undefined)?.settledMs ??
      Number.POSITIVE_INFINITY;
    const near = this.#changes.filter(({ beganMs }, index) => beganMs <= toMs && endMs(index) >= fromMs);
    return near.map(({ beganMs, settledMs, targets, desired }) => {
      const times = `change from ${time(beganMs)}, in force ${time(settledMs)}`;
      return `${this.label} (${this.uid}): ${times}: ${JSON.stringify(desired)} as ${JSON.stringify(targets)}`;
    });
  }

  /** The last change, and what the shards last said of the partner. */
  get lastChange(): string {
    const { desired, targets } = this.#changes.at(-1) ?? {};
    const [wanted, allowed, seen] = [desired, targets, this.#seen].map((value) => JSON.stringify(value));
    return `${this.label}: wanted ${wanted} as ${allowed}, seen ${seen}`;
  }

  /** Unix milliseconds since which no pod signs with this key for this object; undefined while one may. */
  keyEndedMs(key: string): number | undefined {
    const at = this.#changes.findLastIndex(({ desired }) => desired.exists && desired.keys.includes(key));
    return at < 0 ? 0 : this.#changes.slice(at + 1).find(({ settledMs }) => settledMs !== undefined)?.settledMs;
  }
}

/** Whether a subscription covers an event. */
export function wants({ types, tenants, matchers = [] }: Subscription, event: EventFacts): boolean {
  return tenants.includes(event.tenant) && covers(types, event.type) && meets(matchers, event);
}

/** Patterns: `**` is everything, `a.*` is two segments of which the first is `a`. */
function covers(types: readonly string[], type: string): boolean {
  const [domain = ""] = type.split(".");
  return types.some((pattern) => pattern === "**" || pattern === `${domain}.*`);
}

function excludes({ types, payload = [] }: Subscription, type: string, fieldClass: string): boolean {
  return covers(types, type) && payload.some(({ excludeClasses = [] }) => excludeClasses.includes(fieldClass));
}

function isGood({ exists, isReadable, subscription, granted }: Desired): boolean {
  return exists && isReadable && isPermitted(subscription, granted);
}

function isPermitted({ tenants }: Subscription, granted: readonly string[]): boolean {
  return tenants.every((tenant) => granted.includes(tenant));
}

/**
 * What the contract says of a partner in this state. A partner that was in force stays routable; a right that was
 * withdrawn narrows it. One that never was in force is routable only if its sole fault is a reference.
 */
function routings(
  desired: Desired,
  { wasInForce, mayBeKnown }: Known,
  lastGood: readonly Subscription[],
): readonly Routing[] {
  const { exists, subscription, granted, isReadable } = desired;
  if (!exists) return ["out"];
  if (isGood(desired)) return [subscription];
  const bases =
    isReadable || lastGood.length === 0
      ? [subscription]
      : lastGood.map((good) => alsoSelecting(narrowed(good, subscription.tenants), subscription));
  const kept = bases.map((base) => narrowed(base, granted));
  if (wasInForce === "yes") return kept;
  return [...(wasInForce === "maybe" ? kept : []), ...firstRoutings(desired, mayBeKnown)];
}

/** What the contract says of a faulty partner that never was in force. */
function firstRoutings({ subscription, granted }: Desired, mayBeKnown: boolean): readonly Routing[] {
  if (isPermitted(subscription, granted)) return [subscription];
  // A partner that was held for its reference before its right was withdrawn stays held, without that right. It is open
  // which of the two came first.
  return mayBeKnown ? ["out", narrowed(subscription, granted)] : ["out"];
}

function narrowed(subscription: Subscription, to: readonly string[]): Subscription {
  return { ...subscription, tenants: subscription.tenants.filter((tenant) => to.includes(tenant)) };
}

/** A last good version requires the content of its spec too, and sends no more than its spec does. */
function alsoSelecting(good: Subscription, { matchers = [], payload = [] }: Subscription): Subscription {
  return { ...good, matchers: together(good.matchers, matchers), payload: together(good.payload, payload) };
}

function together<Item>(own: readonly Item[] = [], more: readonly Item[]): readonly Item[] {
  return [...own, ...more.filter((item) => !own.some((one) => isDeepStrictEqual(one, item)))];
}

function isInForce({ desired, targets }: Change, seen: Seen | undefined): boolean {
  if (!Number.isFinite(desired.generation)) return false;
  if (seen === undefined) return targets.includes("out");
  if (!desired.exists) return false;
  const isWanted = targets.some((target) => target !== "out" && isSame(target, seen.subscription));
  const hasNoOldKey = seen.keys.every((key) => desired.keys.includes(key));
  const isRightSort = isGood(desired) ? seen.isPlain && seen.generation === desired.generation : !seen.isPlain;
  return isWanted && hasNoOldKey && isRightSort;
}

/** No tenant left is the same as no subscription left. */
function isSame(one: Subscription, other: Subscription): boolean {
  if (one.tenants.length === 0 || other.tenants.length === 0) return one.tenants.length === other.tenants.length;
  return (
    one.tenants.toSorted().join() === other.tenants.toSorted().join() &&
    one.types.toSorted().join() === other.types.toSorted().join() &&
    isDeepStrictEqual([one.matchers ?? [], one.payload ?? []], [other.matchers ?? [], other.payload ?? []])
  );
}
