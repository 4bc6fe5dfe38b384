import type { FieldProblem } from "../problem.ts";

/** The twin of one CEL rule: a check of one object alone, with the same message as in `crds/*.yaml`. */
export interface Rule<Self> {
  readonly message: string;
  /**
   * Paths below `self` of what is at fault, none when the rule holds; `""` is `self` itself. `old` is what stood at
   * the same place before an update.
   */
  readonly faults: (self: Self, old: Self | undefined) => readonly string[];
}

/** A rule and its place: `spec.metrics[].source`, where `[]` is every item of a list. */
export interface PlacedRule {
  readonly place: string;
  readonly message: string;
  readonly faults: (self: unknown, old: unknown) => readonly string[];
}

/**
 * Puts rules at a place. Rules run only on objects that the schema accepts, so the value at the place has the type that
 * the rules expect.
 */
export function rulesAt<Self>(place: string, rules: readonly Rule<Self>[]): readonly PlacedRule[] {
  return rules.map(({ message, faults }) => ({
    place,
    message,
    faults: (self, old) => faults(self as Self, old as Self | undefined),
  }));
}

/** The usual rule. @param path what is at fault, below `self`, when it does not hold */
export function rule<Self>(message: string, holds: (self: Self) => boolean, path = ""): Rule<Self> {
  return { message, faults: (self) => unless(holds(self), path) };
}

/** The usual result of a rule: nothing when it holds, else the one path at fault. */
export function unless(holds: boolean, path = ""): readonly string[] {
  return holds ? [] : [path];
}

/**
 * Problems of an object, in the order of the rules. `old` is the object that an update replaces.
 * @param isJudged false for the path of a value that the schema rejects, or that contains one. @default all are judged
 */
export function brokenRules(
  rules: readonly PlacedRule[],
  object: unknown,
  old?: unknown,
  isJudged: (path: string) => boolean = () => true,
): readonly FieldProblem[] {
  // Many rules share few places.
  const known = new Map<string, readonly Found[]>();
  const valuesOf = (place: string): readonly Found[] => {
    const found = known.get(place) ?? valuesAt(place.split("."), { path: "", value: object, old });
    known.set(place, found);
    return found;
  };
  return rules.flatMap(({ place, message, faults }) =>
    valuesOf(place).flatMap((found) =>
      (isJudged(found.path) ? faults(found.value, found.old) : []).map((below) => ({
        field: found.path + below,
        reason: "Invalid" as const,
        message,
      })),
    ),
  );
}

interface Found {
  readonly path: string;
  readonly value: unknown;
  readonly old: unknown;
}

/** Everything at a place. The items of a list have no former selves: their order may have changed. */
function valuesAt(segments: readonly string[], { path, value, old }: Found): readonly Found[] {
  const [segment, ...rest] = segments;
  if (segment === undefined) return [{ path, value, old }];
  const name = segment.replace("[]", "");
  const property = propertyOf(value, name);
  if (property === undefined) return [];
  const at = path === "" ? name : `${path}.${name}`;
  if (!segment.endsWith("[]")) return valuesAt(rest, { path: at, value: property, old: propertyOf(old, name) });
  const items: readonly unknown[] = Array.isArray(property) ? property : [];
  return items.flatMap((item, index) => valuesAt(rest, { path: `${at}[${index}]`, value: item, old: undefined }));
}

function propertyOf(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
}
