/** Figures of one partner by the last counts of this pod. */
export interface PartnerFigure {
  /** Deliveries that are due or in flight; undefined when this pod has not counted its lane. */
  readonly backlog: number | undefined;
  /** Time since when its oldest delivery is due, Unix milliseconds; undefined for none, or before the first read. */
  readonly oldestDueAtMs: number | undefined;
}

/** What the periodic counts of this pod found, by partner. It holds no more than the partners of the last counts. */
export interface PartnerFigures {
  /** Replaces the counts. @param lanes those that were counted  @param due deliveries by `namespace/name`; absent: 0 */
  counted(lanes: ReadonlySet<string>, due: ReadonlyMap<string, number>): void;
  /** Stores the time of the oldest due delivery of a partner; undefined: none. */
  oldest(label: string, atMs: number | undefined): void;
  of(partner: { readonly label: string; readonly lane: string }): PartnerFigure;
}

/** Creates the memory of a pod that has counted nothing. */
export function createPartnerFigures(): PartnerFigures {
  let lanes: ReadonlySet<string> = new Set();
  let due: ReadonlyMap<string, number> = new Map();
  const oldest = new Map<string, number>();
  return {
    counted: (nextLanes, nextDue) => {
      lanes = nextLanes;
      due = nextDue;
    },
    oldest: (label, atMs) => {
      if (atMs === undefined) oldest.delete(label);
      else oldest.set(label, atMs);
    },
    of: ({ label, lane }) => {
      const backlog = lanes.has(lane) ? (due.get(label) ?? 0) : undefined;
      // The two counts have different times: without a backlog, the oldest delivery has ended since.
      return { backlog, oldestDueAtMs: backlog === 0 ? undefined : oldest.get(label) };
    },
  };
}
