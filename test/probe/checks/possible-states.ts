import type { RawSource } from "./raw-sources.ts";

/** The states of several stores that one point may have been read from. */
export interface States {
  /** For each store, the writes that it held, by the place of the last one. Only writes that change the point count. */
  readonly all: readonly (readonly number[])[];
  /** Whether {@link combinations} leaves some out. */
  readonly isCutShort: boolean;
  /** One state of each store, those of one moment first. */
  combinations(): Iterable<readonly number[]>;
  /** The state of each store at each moment at which any of them changed, with that moment. */
  readonly moments: readonly (readonly [atMs: number, states: readonly number[]])[];
}

/** Combinations that are tried for one point. */
const combinationsMax = 4_000;

/** @param sources the samples that the point can be made of */
export function possibleStates(sources: readonly RawSource[], [fromMs, toMs]: readonly [number, number]): States {
  const all = sources.map(({ record, slices }) => {
    const [sure, possible] = record.states(fromMs, toMs);
    const changes = new Set(slices.flatMap(([, slice]) => slice.batches(sure, possible)));
    return [sure, ...[...changes].sort((a, b) => a - b)];
  });
  const count = all.reduce((product, own) => product * own.length, 1);
  const moments = momentsOf(sources, all);
  return { all, moments, isCutShort: count > combinationsMax, combinations: () => combinationsOf(all, moments, count) };
}

function momentsOf(sources: readonly RawSource[], all: readonly (readonly number[])[]): States["moments"] {
  const changes = sources.flatMap(({ record }, store) =>
    (all[store] ?? []).slice(1).map((place) => ({ store, place, atMs: record.batch(place)?.ackedMs ?? 0 })),
  );
  const states = all.map((own) => own[0] ?? -1);
  const moments: (readonly [number, readonly number[]])[] = [[Number.NEGATIVE_INFINITY, [...states]]];
  for (const { store, place, atMs } of changes.sort((a, b) => a.atMs - b.atMs)) {
    states[store] = place;
    moments.push([atMs, [...states]]);
  }
  return moments;
}

function* combinationsOf(
  all: readonly (readonly number[])[],
  moments: States["moments"],
  count: number,
): Iterable<readonly number[]> {
  for (const [, states] of moments.toReversed()) yield states;
  if (all.length === 1) return;
  for (let index = 0; index < Math.min(count, combinationsMax); index += 1) {
    let rest = index;
    yield all.map((own) => {
      // Newest first: most points are read when they are asked for.
      const place = own[own.length - 1 - (rest % own.length)] ?? -1;
      rest = Math.floor(rest / own.length);
      return place;
    });
  }
}
