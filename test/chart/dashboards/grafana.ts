/** A query of a panel: PromQL and the name of its series. `SELECTED` stands for the labels of the installation. */
export type PanelQuery = readonly [expr: string, legend: string];

/** A panel of a dashboard. */
export interface PanelPlan {
  readonly title: string;
  readonly description: string;
  /** Unit by Grafana's name. */
  readonly unit: "short" | "s" | "percentunit" | "bytes" | "reqps" | "ops" | "bool" | "dateTimeFromNow";
  readonly queries: readonly PanelQuery[];
}

/** A dashboard. */
export interface DashboardPlan {
  /** File name and end of the identity. */
  readonly name: string;
  readonly title: string;
  readonly panels: readonly PanelPlan[];
  /** A further choice of the reader. @default none */
  readonly variable?: { readonly name: string; readonly label: string; readonly metric: string };
}

const columns = 2;
const refIds = "ABCDEFGH";
const [width, height] = [12, 8];
const schemaVersion = 39;
const source = { type: "prometheus", uid: "${datasource}" };
const chosen = 'namespace="$namespace", release="$release"';

/** The dashboard in Grafana's form. */
export function grafanaDashboard({ name, title, panels, variable }: DashboardPlan): object {
  return {
    uid: `heliograph-${name}`,
    title: `Heliograph: ${title}`,
    schemaVersion,
    version: 1,
    editable: false,
    tags: ["heliograph"],
    time: { from: "now-3h", to: "now" },
    refresh: "30s",
    timezone: "utc",
    templating: { list: variables(variable) },
    panels: panels.map(panel),
  };
}

/** The PromQL of a query as Grafana sends it, with its variables. */
export function exprOf([expr]: PanelQuery): string {
  return expr.replaceAll("SELECTED", chosen);
}

function variables(more: DashboardPlan["variable"]): readonly object[] {
  const values = (name: string, label: string, metric: string, labels: string, key = name): object => ({
    name,
    type: "query",
    label,
    datasource: source,
    query: { query: `label_values(${metric}{${labels}}, ${key})`, refId: name },
    refresh: 2,
  });
  return [
    { name: "datasource", type: "datasource", query: "prometheus", label: "Store" },
    values("namespace", "Namespace", "heliograph_pod_ready", ""),
    values("release", "Release", "heliograph_pod_ready", 'namespace="$namespace"'),
    ...(more === undefined ? [] : [values(more.name, more.label, more.metric, chosen)]),
  ];
}

function panel({ title, description, unit, queries }: PanelPlan, index: number): object {
  return {
    id: index + 1,
    type: "timeseries",
    title,
    description,
    datasource: source,
    gridPos: { h: height, w: width, x: (index % columns) * width, y: Math.floor(index / columns) * height },
    fieldConfig: { defaults: { unit }, overrides: [] },
    options: { legend: { displayMode: "list", placement: "bottom" } },
    targets: queries.map((query, at) => ({
      refId: refIds[at] ?? `Q${at}`,
      expr: exprOf(query),
      legendFormat: query[1],
    })),
  };
}
