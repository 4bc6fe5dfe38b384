import * as fc from "fast-check";
import { environments, regions, services } from "./full-series.ts";

/**
 * Random expressions, each written twice: for the governed API, and for one store that holds all data. The second text
 * is PromQL over the names in the store, where a metric has another name, a ratio is two counters and a classic
 * histogram three series. So this file is the rewriting between the two.
 */

/** An expression in both languages. */
export interface Written {
  readonly governed: string;
  readonly store: string;
}

/** One leaf: a metric with its form, filters, labels to group by, and window. */
export interface LeafChoice {
  readonly form: (typeof forms)[number]["name"];
  readonly filters: Readonly<Partial<Record<"service" | "environment" | "region", readonly string[]>>>;
  /** @default the labels of the whole expression */
  readonly by: readonly string[] | undefined;
  readonly window: string;
}

/** A tree of operators over leaves. `factor` keeps two sides from being nearly equal, where rounding would decide. */
export type Tree =
  | { readonly kind: "leaf"; readonly selector: LeafChoice }
  | { readonly kind: "number"; readonly value: number }
  | { readonly kind: "negate" | "group"; readonly of: Tree }
  | Binary;

interface Binary {
  readonly kind: "binary";
  readonly op: (typeof ops)[number];
  readonly isBool: boolean;
  readonly factor: number;
  readonly left: Tree;
  readonly right: Tree;
}

const arithmetic = ["+", "-", "*", "/"] as const;
const comparisons = ["==", "!=", "<", "<=", ">", ">="] as const;
const sets = ["and", "or", "unless"] as const;
const ops = [...arithmetic, ...comparisons, ...sets] as const;
/** Windows in both languages. */
const windows = ["1m", "90s", "2m", "5m", "15m"] as const;
export const governedLabels = ["service", "environment", "region"] as const;
/** The threshold of the objective of `latency`, which is a bound of its buckets. */
export const threshold = 250;

/** The parts of a leaf's text. */
interface Parts {
  readonly by: (...more: readonly string[]) => string;
  /** A metric or series with its matchers, without a window. */
  readonly of: (name: string, ...more: readonly string[]) => string;
  readonly window: string;
}

type Write = (parts: Parts) => string;

interface Form {
  readonly name: string;
  readonly metric: string;
  readonly governed: Write;
  readonly store: Write;
  /** How the native API asks for the same; a count and a share have no such query. */
  readonly native?: string;
}

function simple(id: string, series: string, outer: string, inner: string, native: string): Form {
  const over =
    (name: string): Write =>
    ({ by, of, window }) =>
      `${outer}${by()} (${inner}(${of(name)}[${window}]))`;
  return { name: `${outer} ${inner} ${id}`, metric: id, governed: over(id), store: over(series), native };
}

function overSums(id: string, fn: string, inner: string, store: Write, native?: string): Form {
  return {
    name: `${fn} ${inner} ${id}`,
    metric: id,
    governed: ({ by, of, window }) => `${fn}(sum${by()} (${inner}(${of(id)}[${window}])))`,
    store,
    ...(native === undefined ? {} : { native }),
  };
}

const increases =
  (series: string, ...more: readonly string[]): Write =>
  ({ by, of, window }) =>
    `sum${by()} (increase(${of(series, ...more)}[${window}]))`;
const divided =
  (above: Write, below: Write): Write =>
  (parts) =>
    `(${above(parts)} / ${below(parts)})`;

function percentile(id: string, series: string, le: readonly string[], q: number): Form {
  const over =
    (name: string): Write =>
    ({ by, of, window }) =>
      `histogram_quantile(${q}, sum${by(...le)} (rate(${of(name)}[${window}])))`;
  return { name: `p${q * 100} ${id}`, metric: id, governed: over(id), store: over(series), native: `p${q * 100}` };
}

const gauge = [
  simple("lag", "lag_items", "avg", "avg_over_time", "avg"),
  simple("lag", "lag_items", "sum", "avg_over_time", "sum"),
  simple("lag", "lag_items", "min", "min_over_time", "min"),
  simple("lag", "lag_items", "max", "max_over_time", "max"),
];
const counter = [
  simple("payments", "payments_total", "sum", "rate", "avg"),
  simple("payments", "payments_total", "sum", "increase", "sum"),
  simple("payments", "payments_total", "min", "increase", "min"),
  simple("payments", "payments_total", "max", "increase", "max"),
];
const ratio: readonly Form[] = [
  {
    name: "ratio",
    metric: "success",
    governed: ({ by, of, window }) => `avg${by()} (avg_over_time(${of("success")}[${window}]))`,
    store: divided(increases("payments_total", 'result="ok"'), increases("payments_total")),
    native: "avg",
  },
  {
    name: "total",
    metric: "success",
    governed: increases("success:total"),
    store: increases("payments_total"),
  },
];
const classic = [
  ...[0.5, 0.95, 0.99].map((q) => percentile("latency", "latency_bucket", ["le"], q)),
  overSums("latency", "histogram_avg", "rate", divided(increases("latency_sum"), increases("latency_count")), "avg"),
  overSums("latency", "histogram_sum", "increase", increases("latency_sum"), "sum"),
  overSums("latency", "histogram_count", "increase", increases("latency_count")),
  {
    name: "fraction",
    metric: "latency",
    governed: ({ by, of, window }: Parts) =>
      `histogram_fraction(0, ${threshold}, sum${by("le")} (rate(${of("latency")}[${window}])))`,
    store: divided(increases("latency_bucket", `le="${threshold}"`), increases("latency_count")),
  },
];
const nativeWrite =
  (fn: string, inner: string): Write =>
  ({ by, of, window }) =>
    `${fn}(sum${by()} (${inner}(${of("sizes")}[${window}])))`;
const native = [
  ...[0.5, 0.95, 0.99].map((q) => percentile("sizes", "sizes", [], q)),
  overSums("sizes", "histogram_avg", "rate", nativeWrite("histogram_avg", "rate"), "avg"),
  overSums("sizes", "histogram_sum", "increase", nativeWrite("histogram_sum", "increase"), "sum"),
  overSums("sizes", "histogram_count", "increase", nativeWrite("histogram_count", "increase")),
];
/** The short form of a gauge, whose window is that of the request. */
const short: Form = {
  name: "short",
  metric: "lag",
  governed: ({ by, of }) => `avg${by()} (${of("lag")})`,
  store: ({ by, of, window }) => `avg${by()} (avg_over_time(${of("lag_items")}[${window}]))`,
};
export const forms: readonly Form[] = [...gauge, ...counter, ...ratio, ...classic, ...native, short];

/** Leaves over all metrics. */
export const randomLeaf: fc.Arbitrary<LeafChoice> = fc.record({
  form: fc.constantFrom(...forms.map(({ name }) => name)),
  filters: fc.record(
    {
      service: fc.subarray([...services], { minLength: 1 }),
      environment: fc.subarray([...environments], { minLength: 1 }),
      region: fc.subarray([...regions], { minLength: 1 }),
    },
    { requiredKeys: [] },
  ),
  by: fc.option(fc.subarray([...governedLabels]), { nil: undefined, freq: 8 }),
  window: fc.constantFrom(...windows),
});

const number = fc.double({ min: 0.01, max: 5_000, noNaN: true }).map((value) => Number(value.toPrecision(5)));

/** Trees of at most eight leaves. */
export const randomTree: fc.Arbitrary<Tree> = fc.letrec<{ readonly tree: Tree }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 3, depthSize: "small" },
    { weight: 4, arbitrary: fc.record({ kind: fc.constant("leaf" as const), selector: randomLeaf }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("number" as const), value: number }) },
    {
      weight: 1,
      arbitrary: fc.record({ kind: fc.constantFrom("negate" as const, "group" as const), of: tie("tree") }),
    },
    {
      weight: 5,
      arbitrary: fc.record({
        kind: fc.constant("binary" as const),
        op: fc.constantFrom(...ops),
        isBool: fc.boolean(),
        factor: number,
        left: tie("tree"),
        right: tie("tree"),
      }),
    },
  ),
})).tree;

/** What all leaves of an expression share. */
export interface Shared {
  readonly tenant: string;
  readonly by: readonly string[];
  /** The window of the short form in the store's words. */
  readonly shortWindow: string;
}

/** Both texts of a tree. */
export function write(tree: Tree, shared: Shared): Written {
  switch (tree.kind) {
    case "leaf":
      return writeLeaf(tree.selector, shared);
    case "number":
      return { governed: String(tree.value), store: String(tree.value) };
    case "negate":
      return both(write(tree.of, shared), (text) => `-(${text})`);
    case "group":
      return both(write(tree.of, shared), (text) => `(${text})`);
    case "binary":
      return writeBinary(tree, shared);
  }
}

/** One leaf as both languages have it. */
export function writeLeaf(selector: LeafChoice, shared: Shared): Written {
  const form = formOf(selector);
  const by = selector.by ?? shared.by;
  const parts = (rename: (label: string) => string, window: string): Parts => ({
    by: (...more) => {
      const labels = [...by.map(rename), ...more];
      return labels.length === 0 ? "" : ` by (${labels.join(", ")})`;
    },
    of: (name, ...more) => {
      const filters = Object.entries(selector.filters).map(([label, values]) => matcherOf(rename(label), values));
      return `${name}{${[`tenant=${JSON.stringify(shared.tenant)}`, ...filters, ...more].join(", ")}}`;
    },
    window,
  });
  const inStore = (label: string): string => (label === "environment" ? "env" : label);
  return {
    governed: form.governed(parts((label) => label, selector.window)),
    store: form.store(parts(inStore, form === short ? shared.shortWindow : selector.window)),
  };
}

export function formOf({ form }: LeafChoice): Form {
  const found = forms.find(({ name }) => name === form);
  if (found === undefined) throw new Error(`no form ${form}`);
  return found;
}

/** One value as a string, several as alternatives of literals. */
function matcherOf(label: string, values: readonly string[]): string {
  const [only = ""] = values;
  if (values.length === 1) return `${label}=${JSON.stringify(only)}`;
  const literals = values.map((value) => value.replaceAll(/[.|\\"()]/gu, String.raw`\$&`));
  return `${label}=~${JSON.stringify(literals.join("|"))}`;
}

/**
 * A side that could be nearly equal to the other one is multiplied; only an identical text is compared for equality. A
 * set operator takes vectors, and a divisor is never zero.
 */
function writeBinary(tree: Binary, shared: Shared): Written {
  const { op, factor, left, right } = tree;
  const [first, second] = [write(left, shared), write(right, shared)];
  if (isSet(op)) return join(first, isScalar(left) || isScalar(right) ? "+" : op, second);
  if (op === "-") return join(first, op, scaled(second, factor));
  if (isArithmetic(op)) return join(first, isNeverZero(right) ? op : op.replace("/", "*"), second);
  return join(first, comparisonOf(tree), isEquality(op) ? first : scaled(second, factor));
}

function isNeverZero({ kind }: Tree): boolean {
  return kind === "leaf" || kind === "number";
}

/** PromQL compares numbers with `bool` alone. */
function comparisonOf({ op, isBool, left, right }: Binary): string {
  return isBool || (isScalar(left) && (isEquality(op) || isScalar(right))) ? `${op} bool` : op;
}

function isSet(op: Binary["op"]): boolean {
  return sets.some((one) => one === op);
}

function isEquality(op: Binary["op"]): boolean {
  return op === "==" || op === "!=";
}

function isArithmetic(op: Binary["op"]): boolean {
  return arithmetic.some((one) => one === op);
}

export function isScalar(tree: Tree): boolean {
  if (tree.kind === "leaf") return false;
  if (tree.kind === "number") return true;
  if (tree.kind !== "binary") return isScalar(tree.of);
  return isScalar(tree.left) && (isEquality(tree.op) || isScalar(tree.right));
}

function scaled(written: Written, factor: number): Written {
  return both(written, (text) => `(${text}) * ${factor}`);
}

function join(left: Written, op: string, right: Written): Written {
  return {
    governed: `(${left.governed}) ${op} (${right.governed})`,
    store: `(${left.store}) ${op} (${right.store})`,
  };
}

function both({ governed, store }: Written, change: (text: string) => string): Written {
  return { governed: change(governed), store: change(store) };
}

/** The leaves of a tree in the order of its text. */
export function selectorsOf(tree: Tree): readonly LeafChoice[] {
  if (tree.kind === "leaf") return [tree.selector];
  if (tree.kind === "number") return [];
  if (tree.kind !== "binary") return selectorsOf(tree.of);
  return [...selectorsOf(tree.left), ...selectorsOf(isEquality(tree.op) ? tree.left : tree.right)];
}
