// Hints about filter values with commas. A filter has one exact value, so that a list with commas is one name.
import type { LabelName } from "../../../crds/config.ts";
import { shown, type Filters } from "./parameters.ts";

/** Most values that a hint writes out. */
const valuesShownMax = 5;

/** How to write several values; undefined for a value without a comma. */
export function severalAdvice(label: LabelName, value: string): string | undefined {
  const values = value.split(",").map((one) => one.trim());
  if (values.length < 2) return undefined;
  const written = values.slice(0, valuesShownMax).map((one) => `filter_in[${label}]=${shown(one)}`);
  return `${label}="${shown(value)}" is one value; for several write ${written.join("&")}`;
}

/** `"; …"` for an error about the values of a filter, or nothing when none has a comma. */
export function severalHint(label: LabelName, values: readonly string[]): string {
  const advice = values.map((value) => severalAdvice(label, value)).find((one) => one !== undefined);
  return advice === undefined ? "" : `; ${advice}`;
}

/** Hints for a response without series. Empty unless a filter has one value with a comma. */
export function commaHints(filters: Filters): readonly string[] {
  return [...filters].flatMap(([label, values]) =>
    values.flatMap((value) => {
      const advice = severalAdvice(label, value);
      return advice === undefined ? [] : [`no series has this ${label}: ${advice}`];
    }),
  );
}
