/** Types of the events that flow, each as often as any other. No catalog declares the last one. */
export const eventTypes = ["payout.created", "payout.failed", "login.done", "audit.note"] as const;

/** Versions that producers send. Catalogs declare the first one with the type. */
export const versions = ["2026-01-01", "2026-06-01"] as const;

/** What a producer writes into `data`. An absent member is not sent. */
interface Shape {
  readonly version: (typeof versions)[number];
  readonly region: "eu" | "us";
  readonly amount?: number | string;
  readonly extra1?: string | number;
  readonly extra2?: string | number;
  readonly hasPayee: boolean;
}

const [first, second] = versions;
const plain: Shape = { version: first, region: "eu", amount: 250, hasPayee: true };

/** Each as often as any other. Some break every schema, and some only those that gained a property. */
export const shapes: readonly Shape[] = [
  plain,
  { ...plain, region: "us", amount: 1_000 },
  { ...plain, region: "us", extra1: "one" },
  { ...plain, hasPayee: false },
  { ...plain, version: second, amount: 700 },
  { ...plain, version: second, region: "us", extra1: "one", extra2: 2 },
  { ...plain, amount: "250" },
  { ...plain, extra1: 1 },
  { ...plain, region: "us", extra2: 2 },
];

/** What of an event decides whether it is accepted, who gets it, and which part of it. */
export interface EventFacts {
  readonly tenant: string;
  readonly type: string;
  /** Index in {@link shapes}. @default the first */
  readonly shape?: number;
}

function shapeOf({ shape = 0 }: Pick<EventFacts, "shape">): Shape {
  const found = shapes[shape];
  if (found === undefined) throw new Error(`there is no shape ${shape}`);
  return found;
}

/** A field with a class, below `data`. The texts of events in it begin with `secret`. */
export interface ClassifiedField {
  readonly pointer: string;
  readonly class: string;
}

/** Fields that catalogs classify, in the order in which they are published. */
export const fields = [
  { pointer: "/items/*/margin", class: "financial" },
  { pointer: "/payee/code", class: "personal" },
] as const satisfies readonly ClassifiedField[];

/** The value of `data` of an event. */
export function dataOf(id: string, event: Pick<EventFacts, "shape">): Readonly<Record<string, unknown>> {
  const { region, amount, extra1, extra2, hasPayee } = shapeOf(event);
  const item = (sku: string): object => ({ sku, margin: `secret margin ${sku} of ${id}` });
  return {
    note: `event ${id}`,
    region,
    ...(amount === undefined ? {} : { amount }),
    ...(hasPayee ? { payee: { label: "Ada", code: `secret code of ${id}` } } : {}),
    items: [item("a"), item("b")],
    ...(extra1 === undefined ? {} : { extra1 }),
    ...(extra2 === undefined ? {} : { extra2 }),
  };
}

/** The envelope of an event, in the order in which it is written. */
export function envelopeOf(
  id: string,
  event: EventFacts,
  sentMs: number,
): Readonly<Record<string, unknown>> & { readonly type: string } {
  return {
    event_id: id,
    type: event.type,
    version: shapeOf(event).version,
    ts: new Date(sentMs).toISOString(),
    producer: "walk",
    tenant: event.tenant,
    data: dataOf(id, event),
  };
}

/** A condition on the content of an event, as in the resource. */
export interface Matcher {
  readonly pointer: string;
  /** Those of the choices below are known. */
  readonly op: string;
  readonly type?: string;
  readonly value?: string;
}

/** Choices of `subscriptions[0].matchers`; an empty list is none. */
export const matcherChoices: readonly (readonly Matcher[])[] = [
  [],
  [{ pointer: "/data/region", op: "Equal", value: "eu" }],
  [{ pointer: "/data/amount", op: "GreaterThan", type: "Number", value: "500" }],
  [{ pointer: "/data/extra1", op: "Exists" }],
];

/** Whether the content of an event meets all matchers. */
export function meets(matchers: readonly Matcher[], event: Pick<EventFacts, "shape">): boolean {
  const data = dataOf("", event);
  return matchers.every(({ pointer, op, value }) => {
    const found = data[pointer.slice("/data/".length)];
    if (op === "Exists") return found !== undefined;
    return op === "Equal" ? found === value : typeof found === "number" && found > Number(value);
  });
}

/** The part of an event that a subscription sends, as in the resource. */
export interface Payload {
  readonly include?: readonly string[];
  readonly exclude?: readonly string[];
  readonly excludeClasses?: readonly string[];
}

/** Choices of `subscriptions[0].payload`; undefined sends the whole event. */
export const payloadChoices: readonly (Payload | undefined)[] = [
  undefined,
  { exclude: ["/data/payee/code"] },
  { include: ["/data/note", "/data/items/*/sku"] },
  { excludeClasses: ["personal"] },
  { excludeClasses: ["financial", "personal"] },
  { exclude: ["/data/items/*/margin"], excludeClasses: ["personal"] },
];

/** What one version of a type accepts. */
interface VersionFacts {
  /** Number of optional properties that it gained: `extra1` and so on, which are texts. */
  readonly level: number;
  /** Unix milliseconds from which new events are rejected. @default never */
  readonly sunsetAtMs?: number;
}

/** What a catalog declares of one type. */
export interface TypeFacts {
  readonly versions: Readonly<Partial<Record<string, VersionFacts>>>;
  readonly sensitive: readonly ClassifiedField[];
}

/** The types that a catalog declares. */
export type CatalogFacts = Readonly<Partial<Record<string, TypeFacts>>>;

/** What becomes of types that no catalog declares. */
export type Undeclared = "Accept" | "Warn" | "Reject";

/** What a pod responds to an event: 202, or the code of the error. */
export type IngestResult = "accepted" | "invalid_data" | "version_retired" | "undeclared_type";

/** The response of a pod that runs these catalogs and settings. */
export function resultOf(event: EventFacts, catalog: CatalogFacts, undeclared: Undeclared, atMs: number): IngestResult {
  const { version, amount, extra1, extra2 } = shapeOf(event);
  const declared = catalog[event.type]?.versions[version];
  if (declared === undefined) return undeclared === "Reject" ? "undeclared_type" : "accepted";
  const { level, sunsetAtMs = Number.POSITIVE_INFINITY } = declared;
  if (sunsetAtMs <= atMs) return "version_retired";
  const isWrong = typeof amount === "string" || [extra1, extra2].slice(0, level).some((one) => typeof one === "number");
  return isWrong ? "invalid_data" : "accepted";
}

/** The text of a delivery without `attempt`, after these selections with pointers alone. */
export function sentText(id: string, event: EventFacts, sentMs: number, selections: readonly Payload[]): string {
  const whole: unknown = envelopeOf(id, event, sentMs);
  return JSON.stringify(selections.reduce(selected, whole));
}

const envelopeFields = ["event_id", "type", "version", "ts", "producer", "tenant"].map((name) => `/${name}`);

function selected(value: unknown, { include, exclude = [] }: Payload): unknown {
  if (include === undefined)
    return exclude.reduce((left, pointer) => without(left, pointer.split("/").slice(1)), value);
  const paths = [...include, ...envelopeFields].map((pointer) => pointer.split("/").slice(1));
  return within(value, paths);
}

/** The value without what a path leads to. An item of a list becomes null. */
function without(value: unknown, [name = "", ...rest]: readonly string[]): unknown {
  if (Array.isArray(value))
    return value.map((item: unknown, at) =>
      name === "*" || name === String(at) ? (rest.length === 0 ? null : without(item, rest)) : item,
    );
  if (typeof value !== "object" || value === null || !(name in value)) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, member]: [string, unknown]) => {
      if (key !== name) return [[key, member]];
      return rest.length === 0 ? [] : [[key, without(member, rest)]];
    }),
  );
}

/** The part of a value that paths lead to; undefined for nothing. */
function within(value: unknown, paths: readonly (readonly string[])[]): unknown {
  if (paths.some((path) => path.length === 0)) return value;
  const below = (name: string): readonly (readonly string[])[] =>
    paths.filter(([one]) => one === name || (one === "*" && Array.isArray(value))).map((path) => path.slice(1));
  if (typeof value !== "object" || value === null) return undefined;
  const kept = Object.entries(value).map(([key, member]: [string, unknown]) => {
    const inside = below(key);
    return [key, inside.length === 0 ? undefined : within(member, inside)] as const;
  });
  if (Array.isArray(value)) return kept.map(([, member]) => member ?? null);
  return Object.fromEntries(kept.filter(([, member]) => member !== undefined));
}
