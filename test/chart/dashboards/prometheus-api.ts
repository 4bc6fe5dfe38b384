import { request } from "undici";

/** A node of a parsed PromQL expression, as Prometheus answers it. */
export interface PromqlNode {
  readonly type: string;
  readonly name?: string;
  readonly matchers?: readonly { readonly name: string; readonly type: string; readonly value: string }[];
  readonly grouping?: readonly string[];
  readonly expr?: PromqlNode;
}

/** One series of an instant query. */
export interface InstantSeries {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: readonly [number, string];
}

interface Answer {
  readonly status: string;
  readonly error?: string;
  readonly data: unknown;
}

async function ask(url: string, path: string, query: string): Promise<unknown> {
  const { body } = await request(`${url}/api/v1/${path}?query=${encodeURIComponent(query)}`);
  const { status, error = "", data } = (await body.json()) as Answer;
  if (status !== "success") throw new Error(`${query}: ${error}`);
  return data;
}

/** @throws Error with the words of Prometheus when it refuses the query */
export async function instantQuery(url: string, query: string): Promise<readonly InstantSeries[]> {
  const { result } = (await ask(url, "query", query)) as { readonly result: readonly InstantSeries[] };
  return result;
}

/** @throws Error with the words of Prometheus when it refuses the expression */
export async function parsed(url: string, expr: string): Promise<PromqlNode> {
  return (await ask(url, "parse_query", expr)) as PromqlNode;
}

/** Names of all metrics. */
export async function metricNames(url: string): Promise<ReadonlySet<string>> {
  const { body } = await request(`${url}/api/v1/label/__name__/values`);
  return new Set(((await body.json()) as { readonly data: readonly string[] }).data);
}

/** A rule as Prometheus runs it. */
interface RunningRule {
  readonly name: string;
  readonly query: string;
  readonly health: string;
  readonly lastError?: string;
}

/** Every rule that the server has. */
export async function runningRules(url: string): Promise<readonly RunningRule[]> {
  const { body } = await request(`${url}/api/v1/rules`);
  const { data } = (await body.json()) as { readonly data: { readonly groups: readonly { rules: RunningRule[] }[] } };
  return data.groups.flatMap(({ rules }) => rules);
}

interface Selected {
  readonly selector: string;
  /** The selector without the labels of the installation. */
  readonly short: string;
  /** Labels by which an aggregation around it groups. */
  readonly labels: readonly string[];
}

/** All selectors of an expression. */
export function selectorsOf(node: unknown, labels: readonly string[] = []): readonly Selected[] {
  if (Array.isArray(node)) return node.flatMap((one: unknown) => selectorsOf(one, labels));
  if (typeof node !== "object" || node === null) return [];
  const { type, grouping = [] } = node as PromqlNode;
  if (type === "vectorSelector" || type === "matrixSelector") return [selected(node as PromqlNode, labels)];
  const around = grouping.length === 0 ? labels : grouping;
  return Object.entries(node).flatMap(([key, child]) => (key === "matchers" ? [] : selectorsOf(child, around)));
}

function selected({ name = "", matchers = [] }: PromqlNode, labels: readonly string[]): Selected {
  const textWithout = (...names: readonly string[]): string => {
    const shown = matchers.filter((matcher) => !names.includes(matcher.name));
    const texts = shown.map((matcher) => `${matcher.name}${matcher.type}${JSON.stringify(matcher.value)}`);
    return `${name}{${texts.toSorted().join(",")}}`;
  };
  return { selector: textWithout("__name__"), short: textWithout("__name__", "namespace", "release"), labels };
}
