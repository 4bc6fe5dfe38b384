/** Points that queries wanted, by where they came from. */
export interface PointCounts {
  readonly hit: number;
  readonly miss: number;
  /** Of the hits, those that another pod had read. @default 0 */
  readonly shared?: number;
  /** Whether what was missing was looked for among what pods share. @default false */
  readonly isSharing?: boolean;
}

/** How much of the last minutes came from memory. */
export interface HitLog {
  add(counts: PointCounts): void;
  /** Share of points from memory; 0 without any. Source: seed "Operational Metrics API" §2.5. */
  ratio(): number;
}

/** Counts are kept by the slice of time in which they were made. */
const sliceMs = 10_000;
const slices = 30;

interface Slice {
  readonly index: number;
  hit: number;
  miss: number;
}

/** An empty log of the last five minutes. @param now Unix milliseconds */
export function createHitLog(now: () => number): HitLog {
  let kept: readonly Slice[] = [];
  const current = (): Slice => {
    const index = Math.floor(now() / sliceMs);
    const last = kept.at(-1);
    if (last?.index === index) return last;
    const slice = { index, hit: 0, miss: 0 };
    kept = [...kept.filter((other) => other.index > index - slices), slice];
    return slice;
  };
  return {
    add({ hit, miss }) {
      const slice = current();
      slice.hit += hit;
      slice.miss += miss;
    },
    ratio() {
      const oldest = Math.floor(now() / sliceMs) - slices;
      const recent = kept.filter(({ index }) => index > oldest);
      const hits = recent.reduce((sum, { hit }) => sum + hit, 0);
      const all = recent.reduce((sum, { hit, miss }) => sum + hit + miss, 0);
      return all === 0 ? 0 : hits / all;
    },
  };
}
