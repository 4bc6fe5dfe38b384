import { hash } from "node:crypto";

/** How partners are spread over lanes. */
export interface LaneRules {
  /** Partners that have a lane of their own at most; an acknowledgement scans every consumer of the stream. */
  readonly ownLanesMax: number;
  /** Lanes that all other partners share. */
  readonly sharedLanes: number;
}

/** A partner's lane, and all that may hold something for it. */
export interface LanePlace {
  readonly lane: string;
  readonly lanes: readonly string[];
}

const sharedForm = /^shared-\d+$/u;

/** Whether a lane is one that partners share; a partner's own lane has its token, which is longer. */
export function isSharedLane(lane: string): boolean {
  return sharedForm.test(lane);
}

/**
 * The places of all partners, by token. As long as there are no more than have lanes of their own, every partner has
 * one. Beyond, those that were promoted have one, then the rest by a hash, so that a partner that comes or goes moves
 * at most one other.
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
