// Event types: their states, and schemas as trees.
import type { EventTypeState, EventTypeSummary } from "../../api/events.ts";
import type { ComponentChildren, JSX } from "preact";
import { useState } from "preact/hooks";
import { Badge, type Tone } from "../components/badge.tsx";
import { formatNumber } from "../components/format.ts";
import { Timestamp } from "../components/timestamp.tsx";

/** A JSON Schema of the keywords of event catalogs. */
type Schema = Readonly<Record<string, unknown>>;

interface SchemaTreeProps {
  readonly schema: Schema;
  /** Classes of sensitive fields by JSON pointer. */
  readonly classes: ReadonlyMap<string, string>;
}

/** Levels that are open at first. Deeper ones are drawn when they are opened. */
const openLevels = 2;
const valuesShownMax = 12;

/** The fields of a schema with their types, as nested lists. */
export function SchemaTree({ schema, classes }: SchemaTreeProps): JSX.Element {
  const definitions = isPlain(schema["$defs"]) ? schema["$defs"] : {};
  const fields = fieldsOf(schema, { definitions, classes, level: 0, pointer: "" });
  return fields === null ? <p class="quiet">No fields are declared.</p> : <div class="schema-tree">{fields}</div>;
}

interface Place {
  readonly definitions: Schema;
  readonly classes: ReadonlyMap<string, string>;
  readonly level: number;
  /** JSON pointer of the value in the data. */
  readonly pointer: string;
}

/** What a value has inside: properties, items and alternatives; null if nothing. */
function fieldsOf(written: unknown, place: Place): JSX.Element | null {
  const schema = resolved(written, place.definitions);
  const required = new Set(listOf(schema, "required"));
  const properties = Object.entries(isPlain(schema["properties"]) ? schema["properties"] : {});
  const others = schema["additionalProperties"];
  const rows = [
    ...properties.map(([name, one]) => (
      <Field key={name} name={name} schema={one} place={place} isRequired={required.has(name)} />
    )),
    ...(isPlain(others) ? [<Field key="*" name="any other name" schema={others} place={place} isNamed={false} />] : []),
    ...branchesOf(schema, place),
  ];
  const item =
    schema["items"] === undefined ? null : fieldsOf(schema["items"], { ...place, pointer: `${place.pointer}/*` });
  if (rows.length === 0) return item;
  return (
    <>
      <ul>{rows}</ul>
      {item}
    </>
  );
}

const branchNames = { allOf: "all of", anyOf: "any of", oneOf: "one of" } as const;

function branchesOf(schema: Schema, place: Place): readonly JSX.Element[] {
  return Object.entries(branchNames).flatMap(([keyword, label]) =>
    listOf(schema, keyword).map((one, index) => (
      <Field
        key={`${keyword} ${index}`}
        name={`${label}: ${index + 1}`}
        schema={one}
        place={place}
        isNamed={false}
        isBranch
      />
    )),
  );
}

interface FieldProps {
  readonly name: string;
  readonly schema: unknown;
  readonly place: Place;
  readonly isRequired?: boolean;
  /** False for what is no property. @default true */
  readonly isNamed?: boolean;
  /** True for an alternative of the value around it. @default false */
  readonly isBranch?: boolean;
}

function Field({
  name,
  schema: written,
  place,
  isRequired = false,
  isNamed = true,
  isBranch = false,
}: FieldProps): JSX.Element {
  const [isOpen, setOpen] = useState(place.level < openLevels);
  const schema = resolved(written, place.definitions);
  const pointer = isBranch ? place.pointer : `${place.pointer}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`;
  const inside = { ...place, level: place.level + 1, pointer };
  const head = (
    <FieldHead
      name={isNamed ? <code>{name}</code> : <span class="quiet">{name}</span>}
      schema={schema}
      type={typeText(schema, place.definitions)}
      isRequired={isRequired}
      sensitive={place.classes.get(pointer) ?? place.classes.get(`${pointer}/*`)}
    />
  );
  if (!hasInside(schema, place.definitions)) return <li>{head}</li>;
  return (
    <li>
      <details open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>{head}</summary>
        {isOpen ? fieldsOf(schema, inside) : null}
      </details>
    </li>
  );
}

interface FieldHeadProps {
  readonly name: ComponentChildren;
  readonly schema: Schema;
  readonly type: string;
  readonly isRequired: boolean;
  readonly sensitive: string | undefined;
}

function FieldHead({ name, schema, type, isRequired, sensitive }: FieldHeadProps): JSX.Element {
  const { description = schema["title"], deprecated } = schema;
  const rules = rulesOf(schema);
  return (
    <span class="schema-field">
      <span class="schema-name">
        {name} <span class="quiet">{type}</span>
        {isRequired ? <Badge state="required" tone="busy" /> : null}
        {deprecated === true ? <Badge state="deprecated" tone="warn" /> : null}
        {sensitive === undefined ? null : <Badge state={sensitive} tone="warn" label={`sensitive: ${sensitive}`} />}
      </span>
      {typeof description === "string" ? <span class="schema-text">{description}</span> : null}
      {rules === "" ? null : <span class="schema-text quiet">{rules}</span>}
    </span>
  );
}

const bounds = {
  minLength: "at least {} characters",
  maxLength: "at most {} characters",
  pattern: "matches {}",
  format: "format {}",
  minimum: "at least {}",
  maximum: "at most {}",
  exclusiveMinimum: "greater than {}",
  exclusiveMaximum: "less than {}",
  multipleOf: "a multiple of {}",
  minItems: "at least {} items",
  maxItems: "at most {} items",
  minProperties: "at least {} members",
  maxProperties: "at most {} members",
} as const;

/** `processed or failed, others may follow; at most 3 characters` */
function rulesOf(schema: Schema): string {
  const values = valuesOf(schema);
  const shown = values
    .slice(0, valuesShownMax)
    .map((value) => (typeof value === "string" ? value : JSON.stringify(value)));
  const more = values.length > shown.length ? ` and ${formatNumber(values.length - shown.length)} more` : "";
  const open = schema["x-open-enum"] === true ? "; others may follow" : "";
  const list =
    values.length === 0 ? [] : [`${values.length === 1 ? "always" : "one of"} ${shown.join(", ")}${more}${open}`];
  const rules = Object.entries(bounds).flatMap(([keyword, words]) => {
    const value = schema[keyword];
    return typeof value === "string" || typeof value === "number" ? [wordsFor(words, value)] : [];
  });
  const unique = schema["uniqueItems"] === true ? ["no item twice"] : [];
  const closed = schema["additionalProperties"] === false ? ["no other members"] : [];
  return [...list, ...rules, ...unique, ...closed].join("; ");
}

function valuesOf(schema: Schema): readonly unknown[] {
  return Object.hasOwn(schema, "const") ? [schema["const"]] : listOf(schema, "enum");
}

function wordsFor(words: string, value: string | number): string {
  const written = value === 1 ? words.replace(/s$/u, "") : words;
  return written.replace("{}", () => String(value));
}

/** Empty for what its values or its place already say. */
function typeText(schema: Schema, definitions: Schema): string {
  const { type, items } = schema;
  const names = Array.isArray(type) ? type.map(String) : typeof type === "string" ? [type] : [];
  const written = names.map((name) =>
    name === "array" && items !== undefined ? `list of ${typeText(resolved(items, definitions), definitions)}` : name,
  );
  const isClear = valuesOf(schema).length > 0 || hasInside(schema, definitions);
  return written.length > 0 || isClear ? written.join(" or ") : "any value";
}

function hasInside(schema: Schema, definitions: Schema): boolean {
  const { properties, additionalProperties, items } = schema;
  const isNamed = isPlain(properties) && Object.keys(properties).length > 0;
  const isBranched = Object.keys(branchNames).some((keyword) => listOf(schema, keyword).length > 0);
  if (isNamed || isPlain(additionalProperties) || isBranched) return true;
  return items !== undefined && hasInside(resolved(items, definitions), definitions);
}

/** The definition that a schema refers to, with the texts of the reference. */
function resolved(schema: unknown, definitions: Schema): Schema {
  if (!isPlain(schema)) return {};
  const { $ref, ...own } = schema;
  if (typeof $ref !== "string") return schema;
  return { ...resolved(definitions[$ref.slice("#/$defs/".length)], definitions), ...own };
}

function listOf(schema: Schema, keyword: string): readonly unknown[] {
  const value = schema[keyword];
  return Array.isArray(value) ? value : [];
}

function isPlain(value: unknown): value is Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

const tones: Readonly<Record<EventTypeState, Tone>> = { Active: "good", Deprecated: "warn", Retired: "quiet" };

export const typeStates: readonly string[] = Object.keys(tones);

interface StateAndEndProps {
  readonly state: EventTypeState;
  /** The version whose end is shown. @default none */
  readonly end?: EventTypeSummary["versions"][number] | undefined;
}

/** A state, and when events of a deprecated version are rejected. */
export function StateAndEnd({ state, end }: StateAndEndProps): JSX.Element {
  const sunset = state === "Active" ? undefined : end?.sunset_at;
  return (
    <>
      <Badge state={state} tone={tones[state]} label={state.toLowerCase()} />
      {sunset === undefined ? null : (
        <span class="quiet">
          {" "}
          {state === "Retired" ? "ended" : "ends"} <Timestamp at={sunset} shows="age" />
        </span>
      )}
    </>
  );
}
