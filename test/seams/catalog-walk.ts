import { fields, versions, type CatalogFacts, type ClassifiedField, type TypeFacts } from "./contracts.ts";

/** One version of a type in a catalog of the walk. */
export interface VersionSlot {
  readonly version: string;
  readonly isDeclared: boolean;
  /** Optional properties that it gained so far. It never loses one. */
  readonly level: number;
  /** New events of an ended version are rejected. */
  readonly state: "Active" | "Deprecated" | "Ended";
}

/** One type that a catalog may declare. */
export interface TypeSlot {
  readonly type: string;
  readonly isDeclared: boolean;
  readonly versions: readonly VersionSlot[];
  /** Whether each of {@link fields} is marked as sensitive. */
  readonly marks: readonly boolean[];
}

/** What makes the spec of a catalog one that must be rejected. */
const faults = ["type", "required", "closed", "keyword"] as const;

/** An event catalog of the walk, and what its resource says. */
export interface CatalogSlot {
  readonly index: number;
  readonly namespace: "pay" | "shop";
  readonly name: string;
  readonly exists: boolean;
  readonly types: readonly TypeSlot[];
  /** The type that the policy does not grant at present; absent without one. */
  readonly withheld?: string;
  /** The first declared version has this fault; absent without one. */
  readonly fault?: (typeof faults)[number];
}

/** What a step does to a catalog. */
export const catalogVerbs = [
  "add_field",
  "break_catalog",
  "fix_catalog",
  "drop_type",
  "declare_type",
  "drop_version",
  "declare_version",
  "deprecate",
  "sunset",
  "revive",
  "mark_field",
  "unmark_field",
  "delete_catalog",
  "create_catalog",
  "withhold_type",
  "permit_type",
] as const;
export type CatalogVerb = (typeof catalogVerbs)[number];

/** The type that a younger catalog claims too at times. */
export const contestedType = "payout.failed";

/** Whether a catalog declares the contested type, and may. */
export function keepsContested({ exists, types, withheld }: CatalogSlot): boolean {
  const isDeclared = types.some((one) => one.type === contestedType && one.isDeclared);
  return exists && isDeclared && withheld !== contestedType;
}

const levelMax = 2;

/** Two catalogs, each with the types of one domain. */
export function startCatalogs(): readonly CatalogSlot[] {
  const slotOf = (type: string): TypeSlot => ({
    type,
    isDeclared: true,
    versions: versions.map((version, at) => ({ version, isDeclared: at === 0, level: 0, state: "Active" })),
    marks: [false, true],
  });
  return [
    {
      index: 0,
      namespace: "pay",
      name: "payouts",
      exists: true,
      types: ["payout.created", "payout.failed"].map(slotOf),
    },
    { index: 1, namespace: "shop", name: "logins", exists: true, types: ["login.done"].map(slotOf) },
  ];
}

type Choose = <T>(list: readonly T[]) => T;

/** The catalog after a step; undefined where the step makes no sense. A catalog without a grant is not edited. */
export function changedCatalog(verb: CatalogVerb, slot: CatalogSlot, pick: Choose): CatalogSlot | undefined {
  const { withheld, ...granted } = slot;
  if (withheld !== undefined) return verb === "permit_type" ? granted : undefined;
  return verb === "permit_type" ? undefined : editedCatalog(verb, slot, pick);
}

function editedCatalog(
  verb: Exclude<CatalogVerb, "permit_type">,
  slot: CatalogSlot,
  pick: Choose,
): CatalogSlot | undefined {
  if (verb === "create_catalog") return slot.exists ? undefined : { ...slot, exists: true };
  if (!slot.exists) return undefined;
  const { fault, ...sound } = slot;
  if (verb === "delete_catalog") return { ...sound, exists: false };
  if (verb === "fix_catalog") return fault === undefined ? undefined : sound;
  if (fault !== undefined) return undefined;
  if (verb === "withhold_type")
    return { ...slot, withheld: pick(slot.types.filter(({ isDeclared }) => isDeclared)).type };
  return verb === "break_catalog" ? { ...slot, fault: pick(faults) } : withType(verb, slot, pick);
}

type TypeVerb = Exclude<
  CatalogVerb,
  "break_catalog" | "fix_catalog" | "delete_catalog" | "create_catalog" | "withhold_type" | "permit_type"
>;

function withType(verb: TypeVerb, slot: CatalogSlot, pick: Choose): CatalogSlot | undefined {
  const old = pick(slot.types);
  const next = changedType(verb, old, pick);
  const types = slot.types.map((one) => (one === old ? (next ?? one) : one));
  const isEmpty = types.every(({ isDeclared }) => !isDeclared);
  return next === undefined || isEmpty ? undefined : { ...slot, types };
}

function changedType(verb: TypeVerb, type: TypeSlot, pick: Choose): TypeSlot | undefined {
  if (verb === "declare_type") return type.isDeclared ? undefined : { ...type, isDeclared: true };
  if (!type.isDeclared) return undefined;
  if (verb === "drop_type") return { ...type, isDeclared: false };
  if (verb === "mark_field" || verb === "unmark_field") {
    const at = pick(fields.map((_, index) => index));
    const isMarked = verb === "mark_field";
    return type.marks[at] === isMarked ? undefined : { ...type, marks: type.marks.with(at, isMarked) };
  }
  const old = pick(type.versions);
  const next = changedVersion(verb, old);
  return next === undefined ? undefined : { ...type, versions: type.versions.map((one) => (one === old ? next : one)) };
}

type VersionVerb = Exclude<TypeVerb, "declare_type" | "drop_type" | "mark_field" | "unmark_field">;

/** What each verb makes of a declared version; undefined where it makes no sense. */
const versionChanges: Readonly<Record<Exclude<VersionVerb, "declare_version">, (slot: VersionSlot) => object | false>> =
  {
    // A type has one version at least.
    drop_version: ({ version }) => version !== versions[0] && { isDeclared: false },
    add_field: ({ level }) => level < levelMax && { level: level + 1 },
    deprecate: ({ state }) => state === "Active" && { state: "Deprecated" },
    sunset: ({ state }) => state !== "Ended" && { state: "Ended" },
    revive: ({ state }) => state !== "Active" && { state: "Active" },
  };

function changedVersion(verb: VersionVerb, slot: VersionSlot): VersionSlot | undefined {
  if (verb === "declare_version") return slot.isDeclared ? undefined : { ...slot, isDeclared: true };
  const change = slot.isDeclared && versionChanges[verb](slot);
  return change === false ? undefined : { ...slot, ...change };
}

/** The steps after which the catalog exists and has no fault. */
export function mendingCatalog(
  slot: CatalogSlot,
): readonly { readonly verb: CatalogVerb; readonly next: CatalogSlot }[] {
  const { fault, withheld, ...sound } = slot;
  const next = { ...sound, exists: true };
  if (withheld !== undefined) return [{ verb: "permit_type", next }];
  if (!slot.exists) return [{ verb: "create_catalog", next }];
  return fault === undefined ? [] : [{ verb: "fix_catalog", next }];
}

/** When each version ends, Unix milliseconds, by its {@link versionKey}; of versions that end. */
interface Sunsets {
  get(key: string): number | undefined;
}

/** The name of a version in all catalogs. */
export function versionKey(type: string, version: string): string {
  return `${type} ${version}`;
}

/** What a catalog declares and may declare, unless its fault makes it keep what it declared before. */
export function factsOf({ types, withheld }: CatalogSlot, sunsets: Sunsets): CatalogFacts {
  const declared = types.filter(({ isDeclared, type }) => isDeclared && type !== withheld);
  return Object.fromEntries(declared.map((one) => [one.type, typeFacts(one, sunsets)]));
}

function typeFacts({ type, versions: slots, marks }: TypeSlot, sunsets: Sunsets): TypeFacts {
  const declared = slots.filter(({ isDeclared }) => isDeclared);
  const versionFacts = declared.map(({ version, level, state }) => {
    const sunsetAtMs = state === "Ended" ? sunsets.get(versionKey(type, version)) : undefined;
    return [version, { level, ...(sunsetAtMs === undefined ? {} : { sunsetAtMs }) }] as const;
  });
  return { versions: Object.fromEntries(versionFacts), sensitive: markedFields(marks) };
}

function markedFields(marks: readonly boolean[]): readonly ClassifiedField[] {
  return fields.filter((_, at) => marks[at] === true);
}

const deprecatedAt = "2026-01-01T00:00:00Z";

/** The spec of a catalog as it is applied. */
export function specOf({ types, fault }: CatalogSlot, sunsets: Sunsets): object {
  const declared = types.filter(({ isDeclared }) => isDeclared);
  return {
    owner: "team",
    types: declared.map((type, at) => typeSpec(type, sunsets, at === 0 ? fault : undefined)),
  };
}

function typeSpec({ type, versions: slots, marks }: TypeSlot, sunsets: Sunsets, fault: CatalogSlot["fault"]): object {
  const declared = slots.filter(({ isDeclared }) => isDeclared);
  return {
    type,
    description: `What ${type} reports.`,
    sensitive: markedFields(marks),
    versions: declared.map(({ version, level, state }, at) => {
      const sunsetAtMs = sunsets.get(versionKey(type, version));
      const ends =
        state === "Ended" && sunsetAtMs !== undefined ? { sunsetAt: new Date(sunsetAtMs).toISOString() } : {};
      return {
        version,
        schema: schemaOf(level, at === 0 ? fault : undefined),
        ...(state === "Active" ? {} : { state: "Deprecated", deprecatedAt, ...ends }),
      };
    }),
  };
}

/** The schema of a version. A fault makes it incompatible with every other one, or invalid. */
export function schemaOf(level: number, fault?: CatalogSlot["fault"]): Readonly<Record<string, unknown>> {
  const text = { type: "string" };
  const object = (properties: object): object => ({ type: "object", properties });
  const gained = Array.from({ length: level }, (_, at) => [`extra${at + 1}`, text] as const);
  return {
    type: "object",
    required: fault === "required" ? ["note", "region"] : ["note"],
    ...(fault === "closed" ? { additionalProperties: false } : {}),
    properties: {
      note: text,
      region: text,
      amount: { type: fault === "type" ? "string" : "integer", ...(fault === "keyword" ? { divisibleBy: 5 } : {}) },
      payee: object({ label: text, code: text }),
      items: { type: "array", items: object({ sku: text, margin: text }) },
      ...Object.fromEntries(gained),
    },
  };
}

/** Number of gained properties of a published schema. */
export function levelOf(schema: unknown): number {
  const { properties = {} } = schema as { readonly properties?: object };
  return Object.keys(properties).filter((name) => name.startsWith("extra")).length;
}

/** One line about a catalog. */
export function catalogText({ namespace, name, exists, types, fault, withheld }: CatalogSlot): string {
  const versionText = ({ version, level, state }: VersionSlot): string => `${version}+${level} ${state}`;
  const texts = types
    .filter(({ isDeclared }) => isDeclared)
    .map(({ type, versions: slots, marks }) => {
      const declared = slots.filter(({ isDeclared }) => isDeclared).map(versionText);
      const marked = markedFields(marks).map(({ pointer }) => pointer);
      return `${type} (${[...declared, ...marked].join(", ")})`;
    });
  const without = withheld === undefined ? "" : `, without ${withheld}`;
  const state = exists ? (fault === undefined ? "" : `, fault ${fault}`) : ", absent";
  return `${namespace}/${name}${state}${without}: ${texts.join("; ")}`;
}
