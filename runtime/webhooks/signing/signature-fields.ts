/**
 * Parses the part of Structured Field Values that signatures use: dictionaries of inner lists of strings and of byte
 * sequences, with any parameters. Any other content makes the whole field malformed. Source: RFC 9651 §4.2, RFC 9421
 * §4.
 */

/** One member of `Signature-Input`. */
export interface SignatureInput {
  readonly label: string;
  /** Names of the covered components, in order, lowercase. */
  readonly components: readonly string[];
  /** Numbers and strings by name. */
  readonly parameters: ReadonlyMap<string, string | number>;
  /** The member's value byte for byte, as `@signature-params` repeats it. */
  readonly text: string;
}

const fieldCharactersMax = 8_192;
const labelForm = String.raw`(?<label>[a-z*][a-z0-9_.*-]*)=`;
const stringForm = String.raw`"(?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*"`;
const tokenForm = String.raw`[A-Za-z*][A-Za-z0-9!#$%&'*+.^_\x60|~:/-]*`;
const valueForm = String.raw`-?\d{1,15}(?:\.\d{1,3})?|${stringForm}|\?[01]|:[A-Za-z0-9+/=]*:|${tokenForm}`;
const parameterForm = String.raw`;[ ]*[a-z*][a-z0-9_.*-]*(?:=(?:${valueForm}))?`;
const componentForm = `${stringForm}(?:${parameterForm})*`;
/** Blanks belong to one repetition only, because two in a row take quadratic time. */
const listForm = String.raw`\((?:[ ]*${componentForm}(?:[ ]+${componentForm})*)?[ ]*\)`;
const inputForm = new RegExp(`${labelForm}(?<text>(?<list>${listForm})(?<parameters>(?:${parameterForm})*))`, "uy");
const bytesForm = new RegExp(`${labelForm}:(?<base64>[A-Za-z0-9+/]*={0,2}):(?:${parameterForm})*`, "uy");
const strings = new RegExp(stringForm, "gu");
const parameter = new RegExp(String.raw`;[ ]*(?<name>[a-z*][a-z0-9_.*-]*)(?:=(?<value>${valueForm}))?`, "gu");
const integerForm = /^-?\d{1,15}$/u;
const comma = /[ \t]*,[ \t]*/uy;

/** Parses `Signature-Input`; undefined when the field is malformed or a label is repeated. */
export function parseSignatureInputs(field: string): readonly SignatureInput[] | undefined {
  return members(field, inputForm)?.map(({ label = "", text = "", list = "", parameters = "" }) => ({
    label,
    components: componentsIn(list),
    parameters: parametersOf(parameters),
    text,
  }));
}

/**
 * Parses the byte sequences of a dictionary such as `Signature` and `Content-Digest` by label; undefined when the field
 * is malformed.
 */
export function parseByteSequences(field: string): ReadonlyMap<string, Buffer> | undefined {
  const found = members(field, bytesForm);
  return found && new Map(found.map(({ label = "", base64 = "" }) => [label, Buffer.from(base64, "base64")]));
}

/** Quotes a text of printable ASCII as a string of a structured field. */
export function quoted(text: string): string {
  return `"${text.replaceAll(/["\\]/gu, String.raw`\$&`)}"`;
}

/** Splits a field into members, in order; undefined unless commas separate all members and each label is unique. */
function members(field: string, form: RegExp): readonly Readonly<Record<string, string>>[] | undefined {
  if (field.length > fieldCharactersMax) return undefined;
  const found: Readonly<Record<string, string>>[] = [];
  let position: number | undefined = 0;
  while (position !== undefined) {
    const match: RegExpExecArray | null = matchAt(form, field, position);
    if (match?.groups === undefined) return undefined;
    found.push(match.groups);
    position = afterComma(field, position + match[0].length);
  }
  return new Set(found.map(({ label }) => label)).size === found.length ? found : undefined;
}

/**
 * Position of the next member; undefined at the end of the field. Without a comma, the position is beyond the end,
 * where no member matches.
 */
function afterComma(field: string, end: number): number | undefined {
  return end === field.length ? undefined : end + (matchAt(comma, field, end)?.[0].length ?? field.length);
}

function matchAt(form: RegExp, text: string, position: number): RegExpExecArray | null {
  form.lastIndex = position;
  return form.exec(text);
}

/** A component with parameters is none that a request has here, so that its signature does not count. */
function componentsIn(list: string): readonly string[] {
  const names = (list.match(strings) ?? []).map(unquoted);
  return list.replaceAll(strings, "").includes(";") ? [...names, ";"] : names;
}

/** A value of another type keeps its text behind an equals sign, which no time and no key id has. */
function parametersOf(text: string): ReadonlyMap<string, string | number> {
  return new Map(
    [...text.matchAll(parameter)].map(({ groups }) => {
      const { name = "", value = "" } = groups ?? {};
      if (value.startsWith('"')) return [name, unquoted(value)];
      return [name, integerForm.test(value) ? Number(value) : `=${value}`];
    }),
  );
}

function unquoted(text: string): string {
  return text.slice(1, -1).replaceAll(/\\(.)/gu, "$1");
}
