import { hash } from "node:crypto";

/** Numbers of own and shared lanes. */
export interface LaneRules {
  /** Largest number of partners with their own lane. Each own lane slows acknowledgements, which scan all consumers. */
  readonly ownLanesMax: number;
  /** Number of lanes that all other partners share. */
  readonly sharedLanes: number;
}

/** The lane of a partner, and all lanes that may hold messages for it. */
export interface LanePlace {
  readonly lane: string;
  readonly lanes: readonly string[];
}

const sharedForm = /^shared-\d+$/u;

/** Whether partners share the lane. An own lane is named by the partner key, which has another form. */
export function isSharedLane(lane: string): boolean {
  return sharedForm.test(lane);
}

/**
 * Assigns lanes to partners by their keys. Up to `ownLanesMax` partners all have their own lane. Beyond that, promoted
 * partners get one first, then the rest in the order of their keys, which are hashes. A partner that is added or
 * removed thus moves at most one other.
 */
export function assignLanes(
  keys: readonly string[],
  promoted: ReadonlySet<string>,
  { ownLanesMax, sharedLanes }: LaneRules,
): ReadonlyMap<string, LanePlace> {
  const own = (key: string): LanePlace => ({ lane: key, lanes: [key] });
  if (keys.length <= ownLanesMax) {
    return new Map(keys.map((key) => [key, own(key)]));
  }
  const ranked = keys.toSorted((a, b) => Number(promoted.has(b)) - Number(promoted.has(a)) || (a < b ? -1 : 1));
  return new Map(
    ranked.map((key, rank) => {
      const shared = sharedLane(key, sharedLanes);
      const lanes = [key, shared];
      return [key, rank < ownLanesMax ? { lane: key, lanes } : { lane: shared, lanes }];
    }),
  );
}

function sharedLane(key: string, sharedLanes: number): string {
  const [first = 0, second = 0] = hash("sha256", key, "buffer");
  return `shared-${((first << 8) | second) % sharedLanes}`;
}
