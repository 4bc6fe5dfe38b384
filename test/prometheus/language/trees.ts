import type { Expression } from "../../../runtime/prometheus/language/expression.ts";

/** A tree in the one form that both parsers are compared in. */
export type Tree = { readonly kind: string } & Readonly<Record<string, unknown>>;

/** Our tree without positions. Without a clause an aggregation has no labels, as in the tree of Prometheus. */
export function treeOf(expression: Expression): Tree {
  const { kind } = expression;
  switch (kind) {
    case "number":
      return { kind, value: expression.value };
    case "selector": {
      const { metric, rangeMs } = expression;
      const matchers = sortByLabel(expression.matchers.map(({ label, op, values }) => ({ label, op, values })));
      return { kind, metric, matchers, rangeMs };
    }
    case "call":
      return { kind, fn: expression.fn, args: expression.args.map(treeOf) };
    case "aggregate":
      return { kind, op: expression.op, by: expression.by ?? [], of: treeOf(expression.of) };
    case "binary": {
      const { op, isBool, left, right } = expression;
      return { kind, op, isBool, left: treeOf(left), right: treeOf(right) };
    }
    case "negate":
    case "group":
      return { kind, of: treeOf(expression.of) };
    case "subquery": {
      const { of, rangeMs, stepMs } = expression;
      return { kind, of: treeOf(of), rangeMs, stepMs };
    }
  }
}

/** All matchers of a selector hold, so that their order has no meaning. */
function sortByLabel<T extends { readonly label: string }>(matchers: readonly T[]): readonly T[] {
  return matchers.toSorted((a, b) => (a.label < b.label ? -1 : 1));
}

/** A node of the tree that Prometheus writes. */
type Node = Readonly<Record<string, unknown>> & { readonly type: string };

interface Matcher {
  readonly name: string;
  readonly type: string;
  readonly value: string;
}

/** The tree of Prometheus in our form. What the subset does not have stays as it is and equals no tree of ours. */
export function treeOfPrometheus(data: unknown): Tree {
  const node = data as Node;
  switch (node.type) {
    case "numberLiteral":
      return { kind: "number", value: numberOf(String(node["val"])) };
    case "vectorSelector":
    case "matrixSelector":
      return selectorOf(node);
    case "call":
      return callOf(node);
    case "aggregation":
      return aggregateOf(node);
    case "unaryExpr":
      return { kind: node["op"] === "-" ? "negate" : "plus", of: treeOfPrometheus(node["expr"]) };
    case "parenExpr":
      return { kind: "group", of: treeOfPrometheus(node["expr"]) };
    case "binaryExpr":
      return binaryOf(node);
    default:
      return subqueryOf(node);
  }
}

/** A subquery, or what the subset does not have. */
function subqueryOf(node: Node): Tree {
  const others = [node["offsetExpr"], node["rangeExpr"], node["stepExpr"], node["timestamp"], node["startOrEnd"]];
  const isPlain =
    node.type === "subquery" && node["offset"] === 0 && others.every((one) => one === null || one === undefined);
  if (!isPlain) return { kind: "other", node };
  return { kind: "subquery", of: treeOfPrometheus(node["expr"]), rangeMs: node["range"], stepMs: node["step"] };
}

function callOf(node: Node): Tree {
  const fn = (node["func"] as { readonly name: string }).name;
  return { kind: "call", fn, args: (node["args"] as readonly unknown[]).map(treeOfPrometheus) };
}

function aggregateOf(node: Node): Tree {
  if (node["without"] === true || node["param"] !== null) return { kind: "other", node };
  return { kind: "aggregate", op: node["op"], by: node["grouping"], of: treeOfPrometheus(node["expr"]) };
}

function numberOf(text: string): number {
  return Number(text.replace("Inf", "Infinity"));
}

function binaryOf(node: Node): Tree {
  const matching = node["matching"] as Readonly<Record<string, unknown>> | null;
  const { labels, include, on, fillValues } = matching ?? {};
  const plain = { labels: [], include: [], on: false, fillValues: { lhs: null, rhs: null } };
  const isPlain = matching === null || JSON.stringify({ labels, include, on, fillValues }) === JSON.stringify(plain);
  if (!isPlain) return { kind: "other", node };
  const [left, right] = [treeOfPrometheus(node["lhs"]), treeOfPrometheus(node["rhs"])];
  return { kind: "binary", op: node["op"], isBool: node["bool"], left, right };
}

function selectorOf(node: Node): Tree {
  const isPlain =
    node["offset"] === 0 &&
    [node["offsetExpr"], node["rangeExpr"] ?? null, node["timestamp"], node["startOrEnd"]].every(
      (one) => one === null,
    ) &&
    node["anchored"] === false &&
    node["smoothed"] === false;
  if (!isPlain) return { kind: "other", node };
  const all = node["matchers"] as readonly Matcher[];
  const names = all.filter(({ name, type }) => name === "__name__" && type === "=");
  const matchers = all
    .filter((matcher) => !names.includes(matcher))
    .map(({ name, type, value }) => ({ label: name, op: type, values: valuesOf(type, value) }));
  const metric = names.length === 1 ? names[0]?.value : names;
  return { kind: "selector", metric, matchers: sortByLabel(matchers), rangeMs: node["range"] };
}

/** The values of a matcher; none for any value but the empty one. */
function valuesOf(type: string, value: string): readonly string[] {
  if (type === "=") return [value];
  if ((type === "!=" && value === "") || (type === "=~" && value === ".+")) return [];
  return literalsOf(value);
}

/** The literals of a list, in another way than the parser under test: an escape is one unit, a bar splits. */
function literalsOf(pattern: string): readonly string[] {
  const units = pattern.match(/\\.|[^\\]/gsu) ?? [];
  const inside = units[0] === "(" && units.at(-1) === ")" ? units.slice(1, -1) : units;
  const literals = [""];
  for (const unit of inside) {
    if (unit === "|") literals.push("");
    else literals.push((literals.pop() ?? "") + (unit.startsWith("\\") ? unit.slice(1) : unit));
  }
  const matchesItself = literals.every((literal) => new RegExp(`^(?:${pattern})$`, "s").test(literal));
  return matchesItself ? literals : ["a pattern that is no list of literals", pattern];
}
