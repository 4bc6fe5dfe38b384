/** Characters that a regular expression reads as more than themselves. */
const special = /[\\.+*?()|[\]{}^$]/gu;

/** A part of a list of alternatives: `|`, an escaped character, or plain text. */
const part = /\||\\([!-/:-@[-`{-~ ])|([^\\.+*?()|[\]{}^$]+)/uy;

/**
 * The values of a regular expression that is a list of literals: `a`, `a|b` or `(a|b)`.
 *
 * @returns undefined when it is anything else, or when one of the literals is empty
 */
export function readAlternatives(pattern: string): readonly string[] | undefined {
  const list = /^\((.*)\)$/su.exec(pattern)?.[1] ?? pattern;
  const values: string[] = [];
  let value = "";
  for (part.lastIndex = 0; part.lastIndex < list.length;) {
    const [found, escaped, plain] = part.exec(list) ?? [];
    if (found === undefined) return undefined;
    if (found === "|") {
      values.push(value);
      value = "";
    } else {
      value += escaped ?? plain ?? "";
    }
  }
  values.push(value);
  return values.includes("") ? undefined : values;
}

/** A regular expression that matches only these values. */
export function writeAlternatives(values: readonly string[]): string {
  return values.map((value) => value.replace(special, "\\$&")).join("|");
}

/**
 * The list of literals that the author of a regular expression probably means: anchors and groups without a capture are
 * left out, since a match covers the whole value, and a dot between other characters stands for itself.
 */
export function guessAlternatives(pattern: string): readonly string[] | undefined {
  const bare = pattern.replace(/^\^/u, "").replace(/(?<!\\)\$$/u, "");
  const group = bare.replace(/^\(\?:(.*)\)$/su, "($1)");
  return readAlternatives(group) ?? readAlternatives(group.replace(/(?<=[\w-])\.(?=[\w-])/gu, "\\."));
}
