import { resourceKey } from "../../crds/shards/shards.ts";
import type { PodReport } from "../observe/rollout.ts";

/** The resources and shards that a new report of a pod affects. */
interface ReportEffects {
  /** Shards of which the pod runs another version now; waiting resources are checked. */
  readonly moved: readonly string[];
  /** Shards of which the pod runs an older or unknown version; all their resources are checked. */
  readonly fellBack: readonly string[];
  /** Resources with another error or mark in the report, by `<Kind>/<namespace>/<name>`. */
  readonly named: readonly string[];
}

const silent: PodReport = { shards: {}, errors: new Map(), marks: new Map() };

/** Compares two reports of one pod. @param current revisions of the published shards */
export function effectsOf(
  before: PodReport | undefined,
  after: PodReport,
  current: (shard: string) => { readonly revision: number; readonly sha256: string } | undefined,
): ReportEffects {
  const known = before ?? silent;
  const moved = Object.keys(after.shards).filter(
    (name) => JSON.stringify(known.shards[name]) !== JSON.stringify(after.shards[name]),
  );
  const fellBack = moved.filter((name) => {
    const [was, is] = [known.shards[name], after.shards[name]];
    const isOlder = was === undefined || (is?.revision ?? 0) < was.revision;
    return isOlder && is?.sha256 !== current(name)?.sha256;
  });
  const errors = different(known.errors, after.errors);
  const marks = different(known.marks, after.marks).flatMap(
    (uid) => after.marks.get(uid) ?? known.marks.get(uid) ?? [],
  );
  const observed = different(known.observed ?? new Map(), after.observed ?? new Map()).flatMap(
    (uid) => after.observed?.get(uid) ?? known.observed?.get(uid) ?? [],
  );
  return { moved, fellBack, named: [...errors, ...[...marks, ...observed].map((one) => resourceKey(one.kind, one))] };
}

function different(before: ReadonlyMap<string, object>, after: ReadonlyMap<string, object>): readonly string[] {
  const keys = new Set([...before.keys(), ...after.keys()]);
  return [...keys].filter((key) => JSON.stringify(before.get(key)) !== JSON.stringify(after.get(key)));
}
