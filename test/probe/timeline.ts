/** A time in which something was otherwise than usual, Unix milliseconds. */
interface Disturbance {
  readonly what: string;
  readonly fromMs: number;
  /** Infinite while it lasts. */
  toMs: number;
}

/** What the probe itself did, and when. */
export interface Timeline {
  /** Notes the begin; the function that it answers notes the end. */
  begin(what: string): () => void;
  /** Notes something that took no time. */
  note(what: string): void;
  /** Whether nothing of this kind touched a time, nor the time that the product may take to recover before it. */
  isQuiet(what: string, fromMs: number, toMs: number): boolean;
  /** Whether one disturbance of this kind covered a whole time. */
  covers(what: string, fromMs: number, toMs: number): boolean;
  /** Those that touched a time. */
  within(fromMs: number, toMs: number): readonly Disturbance[];
  counts(): Readonly<Record<string, number>>;
}

/** An empty timeline. */
export function createTimeline(): Timeline {
  const all: Disturbance[] = [];
  const counts: Record<string, number> = {};
  const begin = (what: string): Disturbance => {
    const disturbance = { what, fromMs: Date.now(), toMs: Number.POSITIVE_INFINITY };
    all.push(disturbance);
    counts[what] = (counts[what] ?? 0) + 1;
    return disturbance;
  };
  const touching = (fromMs: number, toMs: number): readonly Disturbance[] =>
    all.filter((one) => one.fromMs <= toMs && one.toMs >= fromMs);
  const end = (disturbance: Disturbance): void => {
    disturbance.toMs = Date.now();
  };
  return {
    begin(what) {
      const disturbance = begin(what);
      return () => end(disturbance);
    },
    note: (what) => end(begin(what)),
    isQuiet: (what, fromMs, toMs) => touching(fromMs, toMs).every((one) => one.what !== what),
    covers: (what, fromMs, toMs) => all.some((one) => one.what === what && one.fromMs <= fromMs && one.toMs >= toMs),
    within: touching,
    counts: () => counts,
  };
}

/** Versions of one file of the configuration, each in force from some moment on. */
export interface Versions {
  /** The newest. */
  current(): number;
  /** Notes that a newer one is being written. */
  change(): number;
  /** Those that a pod may have applied during a time. A replaced version counts for as long as an edit may take. */
  during(fromMs: number, toMs: number): readonly number[];
}

/** Pods apply an edit in less than a second on a machine without other load. */
const editMsMax = 6_000;

/** Version 0 only. */
export function createVersions(): Versions {
  const changes = [{ version: 0, atMs: 0 }];
  return {
    current: () => changes.length - 1,
    change() {
      changes.push({ version: changes.length, atMs: Date.now() });
      return changes.length - 1;
    },
    during: (fromMs, toMs) =>
      changes
        .filter(
          ({ atMs }, index) =>
            atMs <= toMs && (changes[index + 1]?.atMs ?? Number.POSITIVE_INFINITY) + editMsMax >= fromMs,
        )
        .map(({ version }) => version),
  };
}
