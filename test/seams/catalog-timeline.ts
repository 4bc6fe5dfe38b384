import { isDeepStrictEqual } from "node:util";
import type { CatalogFacts, ClassifiedField } from "./contracts.ts";

/** What the published shards contain of a catalog. */
export interface SeenCatalog {
  readonly uid: string;
  readonly generation: number;
  readonly facts: CatalogFacts;
}

interface CatalogChange {
  readonly beganMs: number;
  settledMs?: number;
  /** Undefined for an object that is deleted. */
  readonly facts: CatalogFacts | undefined;
  uid: string;
  /** Infinite before the response of the API server. */
  generation: number;
  /** @see Change.quietMs of partners */
  readonly quietMs: number;
}

/** Longer than the operator and its writes lag behind while the API server responds. */
const quietMsAfterOverlap = 2_500;

/**
 * What is declared by a catalog over time. Edits that must be rejected are no changes: the shards must never contain
 * their generation.
 */
export class CatalogTimeline {
  readonly label: string;
  /** Rejected edits that were published, in sentences. */
  readonly problems: string[] = [];
  readonly #changes: CatalogChange[] = [];
  readonly #rejected = new Map<string, string>();
  #matchedSinceMs: number | undefined;
  #seen: SeenCatalog | undefined;

  /** @param label `namespace/name` */
  constructor(label: string) {
    this.label = label;
  }

  get isSettled(): boolean {
    return this.#changes.at(-1)?.settledMs !== undefined;
  }

  get lastChange(): string {
    const { facts, generation } = this.#changes.at(-1) ?? {};
    const [wanted, seen] = [facts, this.#seen].map((value) => JSON.stringify(value));
    return `${this.label}: wanted ${wanted} of generation ${generation}, seen ${seen}`;
  }

  /** A change begins; `beganMs` is before its first request. `applied` of the result takes its identity. */
  began(
    beganMs: number,
    facts: CatalogFacts | undefined,
  ): { applied(object: { readonly uid: string; readonly generation: number }): void } {
    const last = this.#changes.at(-1);
    const quietMs = last !== undefined && last.settledMs === undefined ? quietMsAfterOverlap : 0;
    const change: CatalogChange = { beganMs, facts, uid: "", generation: Number.POSITIVE_INFINITY, quietMs };
    if (facts === undefined) change.generation = 0;
    this.#changes.push(change);
    this.#matchedSinceMs = undefined;
    return {
      applied: ({ uid, generation }) => {
        change.uid = uid;
        change.generation = generation;
      },
    };
  }

  /** An edit that must be rejected: this generation is never published. */
  rejects({ uid, generation }: { readonly uid: string; readonly generation: number }, why: string): void {
    this.#rejected.set(`${uid} ${generation}`, why);
  }

  /** What every pod runs, as of `nowMs`; undefined if the shards contain no types of the catalog. */
  observed(nowMs: number, seen: SeenCatalog | undefined): void {
    this.#seen = seen;
    if (seen !== undefined) this.#checkPublished(seen);
    const last = this.#changes.at(-1);
    if (last === undefined || last.settledMs !== undefined) return;
    if (!isInForce(last, seen)) {
      this.#matchedSinceMs = undefined;
      return;
    }
    this.#matchedSinceMs ??= nowMs;
    if (nowMs - this.#matchedSinceMs >= last.quietMs) last.settledMs = nowMs;
  }

  #checkPublished({ uid, generation }: SeenCatalog): void {
    const why = this.#rejected.get(`${uid} ${generation}`);
    if (why === undefined) return;
    this.problems.push(`${this.label}: generation ${generation} with the fault ${why} was published`);
    this.#rejected.delete(`${uid} ${generation}`);
  }

  /** Shards could not be read in between: what matched before counts no more. */
  interrupted(): void {
    this.#matchedSinceMs = undefined;
  }

  /** Everything that may be declared between these two times, Unix milliseconds. */
  possible(fromMs: number, toMs: number): readonly CatalogFacts[] {
    return this.#possible(fromMs, toMs).map(({ facts = {} }) => facts);
  }

  /**
   * Whether a field of a type is one of its class between these two times, for a partner that excludes the class.
   * Fields of types that are not declared any more are kept while a partner excludes their class.
   *
   * @param excludesSince whether the partner excludes the class in all of this time
   */
  isClassified(
    { type, field, fromMs, toMs }: ClassifiedQuery,
    excludesSince: (fromMs: number, toMs: number) => boolean,
  ): boolean | "open" {
    const marks = this.#possible(fromMs, toMs).map(({ facts }) => markOf(facts, type, field));
    if (marks.every((mark) => mark === "marked")) return true;
    if (marks.every((mark) => mark === "unmarked")) return false;
    const sofar = this.#changes.filter(({ beganMs }) => beganMs <= toMs);
    if (sofar.every(({ facts }) => markOf(facts, type, field) !== "marked")) return false;
    const lastMarked = sofar.findLastIndex(
      ({ facts, settledMs }) =>
        markOf(facts, type, field) === "marked" && settledMs !== undefined && settledMs <= fromMs,
    );
    const since = sofar[lastMarked]?.settledMs;
    if (since === undefined) return "open";
    const isUnmarked = sofar.slice(lastMarked).some(({ facts }) => markOf(facts, type, field) === "unmarked");
    return !isUnmarked && excludesSince(since, toMs) ? true : "open";
  }

  /** Changes that were under way between these two times, one line each. */
  story(fromMs: number, toMs: number): readonly string[] {
    const time = (ms: number | undefined): string => (ms === undefined ? "never" : new Date(ms).toISOString());
    return this.#possible(fromMs, toMs).map(
      ({ beganMs, settledMs, facts }) =>
        `${this.label}: change from ${time(beganMs)}, in force ${time(settledMs)}: ${JSON.stringify(facts)}`,
    );
  }

  #possible(fromMs: number, toMs: number): readonly CatalogChange[] {
    const before = this.#changes.findLastIndex(({ settledMs }) => settledMs !== undefined && settledMs <= fromMs);
    const possible = this.#changes
      .slice(Math.max(before, 0))
      .filter(({ beganMs }, index) => (index === 0 && before >= 0) || beganMs <= toMs);
    const nothing = { beganMs: 0, facts: undefined, uid: "", generation: 0, quietMs: 0 };
    return before < 0 ? [nothing, ...possible] : possible;
  }
}

/** A field of a type and the time in which an event of the type was routed. */
interface ClassifiedQuery {
  readonly type: string;
  readonly field: ClassifiedField;
  readonly fromMs: number;
  readonly toMs: number;
}

function markOf(facts: CatalogFacts | undefined, type: string, field: ClassifiedField) {
  const declared = facts?.[type];
  if (declared === undefined) return "undeclared";
  return declared.sensitive.some((one) => isDeepStrictEqual(one, field)) ? "marked" : "unmarked";
}

function isInForce({ facts, uid, generation }: CatalogChange, seen: SeenCatalog | undefined): boolean {
  if (seen === undefined || facts === undefined) return seen === facts;
  return seen.uid === uid && seen.generation === generation && isDeepStrictEqual(seen.facts, facts);
}
