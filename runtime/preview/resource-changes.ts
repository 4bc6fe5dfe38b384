import type { PreviewedResources } from "../../api/previews.ts";
import { canonicalJson } from "../../crds/compile/canonical-json.ts";
import type { CatalogConfig, EventTypeConfig, PayloadConfig, RuntimeConfig } from "../../crds/config.ts";
import { sensitiveFields } from "../../crds/declared-types.ts";
import { partsOf, type ConfigPart } from "../../crds/part.ts";
import { withClasses } from "../webhooks/events/payload-selection.ts";
import { compilePattern } from "../webhooks/events/subscriptions.ts";
import { labelOf } from "./attempt-changes.ts";
import { objectName } from "./edited-config.ts";

/** Differences of the resources of two configurations. Values are JSON, of which at most 200 characters are shown. */
export type ResourceChanges = Pick<PreviewedResources, "added" | "removed" | "changed" | "unchanged">;

/**
 * One field that differs. Its path is that in the compiled resource, such as `subscriptions[all].types`. An entry of a
 * list that is added or removed, such as `metrics[gpu]`, is one field. Values are hidden if they may contain a
 * credential, or name other tenants.
 */
export type FieldChange = PreviewedResources["changed"][number]["fields"][number];

const fieldsMax = 32;
const valueCharactersMax = 200;
/** Members that name an entry of a list. */
const namingMembers = ["name", "id", "metric", "clientId", "scope", "type", "version"] as const;
/** Fields whose values may hold a credential, such as a token in a header or in the path of a URL. */
const hidden = /(?:^|\.)(?:headers\.|url$|tokenUrl$|ackUrl$)/u;
/** Stands for references to Secrets, whose compiled form depends on bytes that a preview does not have. */
const references = "references";

/** The differences between two configurations that have an effect. Bytes of Secrets are not compared. */
export function resourceChanges(before: RuntimeConfig, after: RuntimeConfig): ResourceChanges {
  const [old, edited] = [byObject(before), byObject(after)];
  const added = [...edited.keys()].filter((object) => !old.has(object));
  const removed = [...old.keys()].filter((object) => !edited.has(object));
  const both = [...edited].flatMap(([object, part]) => {
    const last = old.get(object);
    return last === undefined ? [] : [{ object, fields: last === part ? [] : fieldChanges(last, part) }];
  });
  const changed = both.filter(({ fields }) => fields.length > 0);
  return { added, removed, changed, unchanged: both.length - changed.length };
}

function byObject(config: RuntimeConfig): ReadonlyMap<string, ConfigPart["config"]> {
  return new Map([...partsOf(config).values()].map((part) => [objectName(part.kind, part.config), part.config]));
}

function fieldChanges(before: ConfigPart["config"], after: ConfigPart["config"]): readonly FieldChange[] {
  const [old, edited] = [flattened(before), flattened(after)];
  const names = [...new Set([...old.fields.keys(), ...edited.fields.keys()])];
  const changed = names.filter((name) => old.fields.get(name) !== edited.fields.get(name));
  const whole = changed.map((name) => entryOnOneSide(name, old, edited) ?? name);
  const fields = distinct(whole).map((name) => fieldChange(name, valueOf(name, old), valueOf(name, edited)));
  // A spec that differs and compiles to the same differs in its references.
  const isOther = before.specDigest !== after.specDigest;
  return fields.length === 0 && isOther
    ? [{ field: references, hidden: ["before", "after"] }]
    : fields.slice(0, fieldsMax);
}

/** The outermost entry of a list that contains the field and that only one side has. */
function entryOnOneSide(name: string, old: Flattened, edited: Flattened): string | undefined {
  const within = [...(old.within.get(name) ?? []), ...(edited.within.get(name) ?? [])];
  return within.find((entry) => old.entries.has(entry) !== edited.entries.has(entry));
}

/** The JSON of a field, or that of an entry of a list: its fields by their paths, without hidden ones. */
function valueOf(name: string, { fields, entries }: Flattened): string | undefined {
  const value = fields.get(name);
  if (value !== undefined || !entries.has(name)) return value;
  const inside = [...fields].filter(([field]) => field.startsWith(`${name}.`) && !isHidden(field));
  const members = inside.map(([field, json]) => `${JSON.stringify(field.slice(name.length + 1))}:${json}`);
  return `{${members.join(",")}}`;
}

function isHidden(field: string): boolean {
  return hidden.test(field) && !inSchema.test(field);
}

function fieldChange(field: string, before: string | undefined, after: string | undefined): FieldChange {
  if (isHidden(field)) return { field, hidden: ["before", "after"] };
  return {
    field,
    ...(before === undefined ? {} : { before: shownPart(before, after) }),
    ...(after === undefined ? {} : { after: shownPart(after, before) }),
  };
}

const leadCharacters = 40;

/** A value, or the part of a long one at which it differs from the other; `…` marks omitted text. */
function shownPart(value: string, other = ""): string {
  if (value.length <= valueCharactersMax) return value;
  let differsAt = 0;
  while (differsAt < value.length && value[differsAt] === other[differsAt]) differsAt += 1;
  const room = valueCharactersMax - 2;
  const from = Math.max(0, Math.min(differsAt - leadCharacters, value.length - room));
  const to = from + room;
  return `${from > 0 ? "…" : ""}${value.slice(from, to)}${to < value.length ? "…" : ""}`;
}

/** A configuration by the paths of its fields. */
interface Flattened {
  /** JSON of each field. */
  readonly fields: Map<string, string>;
  /** Paths of the entries of lists that contain a field, the outermost first. */
  readonly within: Map<string, readonly string[]>;
  readonly entries: Set<string>;
}

/** The members that have an effect, without identities and the names of Secret bytes. */
function flattened(config: ConfigPart["config"]): Flattened {
  const {
    uid: _uid,
    namespace: _namespace,
    name: _name,
    generation: _generation,
    specDigest: _digest,
    ...rest
  } = config;
  const found: Flattened = { fields: new Map(), within: new Map(), entries: new Set() };
  walk({ path: "", within: [] }, "stores" in rest ? withoutCopies(rest) : rest, found);
  return found;
}

/** Members that hold the names of Secret bytes, or since when a partner waits. */
const unseen = new Set(["material", "tls", "secret", "auth", "lastGoodSinceMs", "waitsSinceMs", "waitsLonger"]);
/** Fields of a schema and its examples are named by their author. */
const inSchema = /^types\[[^\]]*\]\.versions\[[^\]]*\]\./u;

/** Objectives are members of the catalog; those of its metrics are copies. */
function withoutCopies({ metrics, ...catalog }: Pick<CatalogConfig, "metrics">): object {
  return { ...catalog, metrics: metrics.map(({ slos: _copies, ...metric }) => metric) };
}

function walk({ path, within }: { path: string; within: readonly string[] }, value: unknown, found: Flattened): void {
  const members = membersOf(path, value);
  if (members === undefined) {
    found.fields.set(path, canonicalJson(value));
    found.within.set(path, within);
    return;
  }
  for (const [name, member] of members) {
    if (Array.isArray(value)) found.entries.add(name);
    walk({ path: name, within: Array.isArray(value) ? [...within, name] : within }, member, found);
  }
}

/** Members of an object and named entries of a list, by their paths; undefined for another value. */
function membersOf(path: string, value: unknown): readonly (readonly [path: string, value: unknown])[] | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  if (Array.isArray(value))
    return areNamed(value) ? value.map((item) => [`${path}[${nameOf(item)}]`, item] as const) : undefined;
  const seen = Object.entries(value).filter(([name]) => inSchema.test(path) || !unseen.has(name));
  return seen.map(([name, member]) => [path === "" ? name : `${path}.${name}`, member] as const);
}

function areNamed(items: readonly unknown[]): boolean {
  const names = new Set(items.map(nameOf));
  return names.size === items.length && !names.has(undefined);
}

function nameOf(item: unknown): string | undefined {
  if (typeof item !== "object" || item === null) return undefined;
  const values = namingMembers.map((name): unknown => Reflect.get(item, name));
  return values.find((value) => typeof value === "string");
}

/** Fields of one event type that a partner gets, or no longer gets, by an edit. */
type PayloadChange = NonNullable<PreviewedResources["payloads"]>[number];

const payloadsMax = 256;

/**
 * The sensitive fields that partners get or no longer get, because an edit moves or drops the class of a field, or the
 * classes that a partner excludes. Subscriptions are compared by their names. What appears comes first.
 */
export function payloadChanges(before: RuntimeConfig, after: RuntimeConfig): readonly PayloadChange[] {
  const [old, edited] = [sensitiveFields(before), sensitiveFields(after)];
  const partners = new Map(before.partners.map((partner) => [labelOf(partner), partner]));
  const types = [...new Set([...old.keys(), ...edited.keys()])].toSorted();
  const moved = types.filter((type) => canonicalJson(old.get(type) ?? []) !== canonicalJson(edited.get(type) ?? []));
  const rows = after.partners.flatMap((partner) => {
    const label = labelOf(partner);
    const last = partners.get(label);
    const pairs = pairsOf(last?.subscriptions ?? [], partner.subscriptions);
    if (pairs.length === 0) return [];
    const compared = last?.specDigest === partner.specDigest ? moved : types;
    return compared.flatMap((type) => {
      const found = pairs
        .filter(({ suits }) => suits(type))
        .map(({ was, next }) => [excludedOf(was, old.get(type)), excludedOf(next, edited.get(type))] as const);
      const visible = distinct(found.flatMap(([was, next]) => was.filter((pointer) => !isWithin(pointer, next))));
      const hiddenNow = distinct(found.flatMap(([was, next]) => next.filter((pointer) => !isWithin(pointer, was))));
      return visible.length + hiddenNow.length === 0 ? [] : [{ partner: label, type, visible, hidden: hiddenNow }];
    });
  });
  return rows
    .toSorted((one, other) => Number(other.visible.length > 0) - Number(one.visible.length > 0))
    .slice(0, payloadsMax);
}

type Subscription = RuntimeConfig["partners"][number]["subscriptions"][number];

/** Subscriptions of one name, of which one sends a part of events, with the types that both have. */
function pairsOf(before: readonly Subscription[], after: readonly Subscription[]) {
  return after.flatMap((next) => {
    const was = before.find(({ name }) => name === next.name);
    if (was === undefined || [was, next].every(({ selects }) => selects?.payload === undefined)) return [];
    const patterns = [was, next].map(({ types }) => types.map(compilePattern));
    const suits = (type: string): boolean => patterns.every((some) => some.some((matches) => matches(type)));
    return [{ was, next, suits }];
  });
}

/** The pointers that a subscription excludes from events of a type, of those that it would send. */
function excludedOf({ selects }: Subscription, sensitive: EventTypeConfig["sensitive"] = []): readonly string[] {
  const payload: readonly PayloadConfig[] = selects?.payload ?? [];
  const included = payload.flatMap(({ include }) => (include === undefined ? [] : [include]));
  return withClasses(payload, sensitive)
    .flatMap(({ exclude = [] }) => exclude)
    .filter((pointer) =>
      included.every((some) => some.some((one) => isWithin(pointer, [one]) || isWithin(one, [pointer]))),
    );
}

/** Whether one of some pointers leads to the place or above it; `*` leads to every item. */
function isWithin(pointer: string, places: readonly string[]): boolean {
  const segments = pointer.split("/");
  return places.some((place) =>
    place.split("/").every((segment, at) => segment === segments[at] || (segment === "*" && at < segments.length)),
  );
}

function distinct(texts: readonly string[]): readonly string[] {
  return [...new Set(texts)].toSorted();
}
