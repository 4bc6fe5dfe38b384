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
  tokens: readonly string[],
  promoted: ReadonlySet<string>,
  { ownLanesMax, sharedLanes }: LaneRules,
): ReadonlyMap<string, LanePlace> {
  const own = (token: string): LanePlace => ({ lane: token, lanes: [token] });
  if (tokens.length <= ownLanesMax) {
    return new Map(tokens.map((token) => [token, own(token)]));
  }
  const ranked = tokens.toSorted((a, b) => Number(promoted.has(b)) - Number(promoted.has(a)) || (a < b ? -1 : 1));
  return new Map(
    ranked.map((token, rank) => {
      const shared = sharedLane(token, sharedLanes);
      const lanes = [token, shared];
      return [token, rank < ownLanesMax ? { lane: token, lanes } : { lane: shared, lanes }];
    }),
  );
}

function sharedLane(token: string, sharedLanes: number): string {
  const [first = 0, second = 0] = hash("sha256", token, "buffer");
  return `shared-${((first << 8) | second) % sharedLanes}`;
}
