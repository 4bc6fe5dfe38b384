import type { ResourceResult } from "../../../crds/compile/resource-result.ts";
import type { FolderState } from "./folder-state.ts";

/** Effect of an edit on one object, for the log. */
interface ObjectChange {
  /** `Kind/namespace/name` */
  readonly object: string;
  readonly outcome: "accepted" | "refused" | "removed";
  /** Reason of the condition that refuses the object; absent otherwise. */
  readonly reason?: string;
  readonly message?: string;
  readonly warnings?: readonly string[];
  /** State in force instead of a refused object; absent: none. */
  readonly instead?: "last good version" | "held";
}

/** Objects whose spec or result differs between two states; all objects without an earlier state. */
export function changesBetween(before: FolderState | undefined, after: FolderState): readonly ObjectChange[] {
  const known = new Map(before === undefined ? [] : marked(before));
  const present = marked(after);
  const changed = present
    .filter(([object, { mark }]) => known.get(object)?.mark !== mark)
    .map(([, { change }]) => change);
  const gone = new Set(known.keys()).difference(new Set(present.map(([object]) => object)));
  return [...changed, ...[...gone].map((object): ObjectChange => ({ object, outcome: "removed" }))];
}

/** Every object with its result, and a mark that changes with its spec or result. */
function marked(state: FolderState): readonly (readonly [string, { mark: string; change: ObjectChange }])[] {
  const { partners, catalogs, quotas } = state.config;
  const digests = new Map([...partners, ...catalogs, ...quotas].map(({ uid, specDigest }) => [uid, specDigest]));
  return state.results.map((result) => {
    const change = changeOf(result);
    return [change.object, { mark: JSON.stringify([change, digests.get(result.uid)]), change }];
  });
}

function changeOf({
  kind,
  namespace,
  name,
  accepted,
  resolvedRefs,
  warnings,
  lastGood,
  held,
}: ResourceResult): ObjectChange {
  const object = `${kind}/${namespace}/${name}`;
  const noted = warnings.length === 0 ? {} : { warnings };
  if (accepted.status && resolvedRefs.status) return { object, outcome: "accepted", ...noted };
  const { reason, message } = accepted.status ? resolvedRefs : accepted;
  const instead = lastGood !== undefined ? "last good version" : held !== undefined ? "held" : undefined;
  return { object, outcome: "refused", reason, message, ...(instead === undefined ? {} : { instead }), ...noted };
}
