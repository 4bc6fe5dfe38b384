/**
 * Parses the part of Structured Field Values that signatures use: dictionaries of inner lists of strings and of byte
 * sequences. Any other content makes the whole field malformed. Source: RFC 9651 §4.2, RFC 9421 §4.
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
const parameterForm = String.raw`;[ ]*[a-z*][a-z0-9_.*-]*=(?:-?\d{1,15}|${stringForm})`;
const inputForm = new RegExp(
  `${labelForm}(?<text>\\([ ]*(?:${stringForm}(?:[ ]+${stringForm})*[ ]*)?\\)(?:${parameterForm})*)`,
  "uy",
);
const bytesForm = new RegExp(`${labelForm}:(?<base64>[A-Za-z0-9+/]*={0,2}):(?:${parameterForm})*`, "uy");
const strings = new RegExp(stringForm, "gu");
const parameters = /;[ ]*(?<name>[a-z*][a-z0-9_.*-]*)=(?<value>-?\d{1,15}|"(?:[^"\\]|\\["\\])*")/gu;
const comma = /[ \t]*,[ \t]*/uy;

/** Parses `Signature-Input`; undefined when the field is malformed or a label is repeated. */
export function parseSignatureInputs(field: string): readonly SignatureInput[] | undefined {
  return members(field, inputForm)?.map(({ label = "", text = "" }) => {
    const end = text.lastIndexOf(")");
    return { label, components: stringsIn(text.slice(0, end)), parameters: parametersOf(text.slice(end)), text };
  });
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
  if (field.length > fieldCharactersMax) {
    return undefined;
  }
  const found: Readonly<Record<string, string>>[] = [];
  let position: number | undefined = 0;
  while (position !== undefined) {
    const match: RegExpExecArray | null = matchAt(form, field, position);
    if (match?.groups === undefined) {
      return undefined;
    }
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

function stringsIn(text: string): readonly string[] {
  return (text.match(strings) ?? []).map(unquoted);
}

function parametersOf(text: string): ReadonlyMap<string, string | number> {
  return new Map(
    [...text.matchAll(parameters)].map(({ groups }) => {
      const { name = "", value = "" } = groups ?? {};
      return [name, value.startsWith('"') ? unquoted(value) : Number(value)];
    }),
  );
}

function unquoted(text: string): string {
  return text.slice(1, -1).replaceAll(/\\(.)/gu, "$1");
}
