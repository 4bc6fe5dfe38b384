import type { Kind } from "../../crds/resource.ts";
import type { Changes } from "./valid-objects.ts";

/** A valid object with some changes, and what becomes of it, here as on the API server. */
export interface Row {
  /** A sentence without its subject, which is the kind. */
  readonly says: string;
  readonly kind: Kind;
  readonly set: Changes;
  /** Changes of the object that this one replaces; only for rules about updates. */
  readonly replaces?: Changes;
}

/** Refused by a rule: one fault, its field and its message. */
export interface RuleRow extends Row {
  readonly field: string;
  readonly message: string;
}

/** Refused by the schema: the field is the same on both sides, the words are not. */
export interface SchemaRow extends RuleRow {
  readonly reason: string;
}

/** A row whose kind its list says. */
type Entry<R extends Row> = Omit<R, "kind">;

/** Rows of one kind. */
export function rowsOf<R extends Row>(kind: Kind, entries: readonly Entry<R>[]): readonly R[] {
  return entries.map((entry) => ({ kind, ...entry }) as R);
}
