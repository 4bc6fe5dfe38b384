import type { Downsamples, QueryMeta, Rankings } from "../../api/queries.ts";
import type { CatalogEntry } from "../../api/catalog.ts";
import type { JSX } from "preact";
import { choicesOf, isPlaceLabel, placeLabels, type PlaceLabel } from "../api/choices.ts";
import { useSession } from "../api/session-context.ts";
import type { QueryChange } from "../router/place.ts";
import { useQueryState } from "../router/router.tsx";
import {
  durationText,
  rankingChange,
  rankingText,
  rankingValue,
  secondsOf,
  type ExplorerQuery,
} from "./explorer-query.ts";
import { FilterInput } from "./filter-input.tsx";

interface QueryFormProps {
  readonly entry: CatalogEntry;
  readonly entries: readonly CatalogEntry[];
  readonly request: ExplorerQuery;
  readonly nowMs: number;
}

const steps = ["10s", "15s", "30s", "1m", "5m", "15m", "1h", "6h", "1d"];
const downsamples: Downsamples = ["1m", "5m", "1h"];
/** Fewer than a page has, which also shows the sum of the others. */
const tops = ["3", "5", "10"];
type Ranking = NonNullable<QueryMeta["top"]>;
const rankings: Rankings = ["max", "avg", "last"];
const orders: readonly Ranking["order"][] = ["desc", "asc"];
const rankedBy = rankings.flatMap((by) =>
  orders.flatMap((order) => tops.map((top) => rankingValue({ top, by, order }))),
);
const earlier = ["1h", "1d", "1w"];

/** The parameters of a query. Its buttons write them to the address. */
export function QueryForm({ entry, entries, request, nowMs }: QueryFormProps): JSX.Element {
  const state = useQueryState();
  const apply = (event: SubmitEvent): void => {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    state.set(changeOf(new FormData(form, event.submitter), entry));
  };
  const { me } = useSession();
  // Without known environments there is no field for them.
  const places = placeLabels.filter(
    (label) => entry.labels.includes(label) && (label !== "environment" || choicesOf(me, label) !== undefined),
  );
  const others = entry.labels.filter((label) => !(isPlaceLabel(label) && places.includes(label)));
  const hasMore = request.downsample !== "" || others.some((label) => request.filters[label] !== undefined);
  return (
    <form class="query-form" onSubmit={apply}>
      <div class="filters">
        <MetricPicker entries={entries} metric={entry.metric_id} onPick={(metric) => state.set(otherMetric(metric))} />
        {places.map((label) => (
          <PlaceFilter key={label} {...{ label, request, nowMs }} />
        ))}
        <AggregationChoice entry={entry} agg={request.agg} />
        <Choice name="step" label="Step" value={request.step} none="Auto">
          {withValue(stepsOf(entry), request.step)}
        </Choice>
      </div>
      <div class="query-form-row">
        <div class="query-form-choices">
          <Choice name="top" label="Top series" value={rankingValue(request)} none="All" text={rankingText}>
            {withValue(rankedBy, rankingValue(request))}
          </Choice>
          <Choice name="compare" label="Compare with" value={request.compare} none="Nothing" text={earlierText}>
            {withValue(earlier, request.compare)}
          </Choice>
        </div>
        <GroupBy entry={entry} request={request} />
        <div class="actions">
          <button type="submit" class="primary">
            Run query
          </button>
          <button type="submit" name="run" value="0">
            Dry run
          </button>
        </div>
      </div>
      <details open={hasMore}>
        <summary>More filters</summary>
        <div class="filters">
          {others.map((label) => (
            <FilterInput key={label} {...{ label, request, nowMs }} />
          ))}
          <Choice name="downsample" label="Downsample" value={request.downsample} none="None">
            {withValue(downsamples, request.downsample)}
          </Choice>
        </div>
      </details>
    </form>
  );
}

function AggregationChoice({ entry, agg }: { readonly entry: CatalogEntry; readonly agg: string }): JSX.Element {
  const { aggregations, default_aggregation: standard } = entry;
  const value = agg === standard ? "" : agg;
  const others = aggregations.filter((one) => one !== standard);
  return (
    <Choice name="agg" label="Aggregation" value={value} none={`${standard} (default)`}>
      {withValue(others, value)}
    </Choice>
  );
}

/** The address after another metric was picked: its tenant, region and time range stay. */
function otherMetric(metric: string): QueryChange {
  const choices = { agg: null, group_by: null, step: null, downsample: null, top: null, by: null, order: null };
  return { metric, ...choices, compare: null, page: null, run: null, hide: null };
}

function changeOf(values: FormData, { labels }: CatalogEntry): QueryChange {
  const text = (name: string): string => {
    const value = values.get(name);
    return typeof value === "string" ? value.trim() : "";
  };
  return {
    ...Object.fromEntries(["agg", "step", "downsample", "compare", "run"].map((name) => [name, text(name)])),
    ...rankingChange(text("top")),
    ...Object.fromEntries(labels.map((label) => [`filter[${label}]`, text(`filter[${label}]`)])),
    group_by: labels.filter((label) => values.getAll("group_by").includes(label)).join(","),
    page: null,
    hide: null,
  };
}

interface PlaceFilterProps {
  readonly label: PlaceLabel;
  readonly request: ExplorerQuery;
  readonly nowMs: number;
}

const placeWords = { tenant: "Tenant", region: "Region", environment: "Environment" } as const;

/** A filter whose values the token names; a text field if it names none. */
function PlaceFilter({ label, request, nowMs }: PlaceFilterProps): JSX.Element {
  const { me } = useSession();
  const choices = choicesOf(me, label);
  if (choices === undefined) return <FilterInput {...{ label, request, nowMs }} title={placeWords[label]} />;
  const value = request.filters[label] ?? "";
  return (
    <Choice name={`filter[${label}]`} label={placeWords[label]} value={value} none={noneOf(label, choices)}>
      {withValue(choices, value)}
    </Choice>
  );
}

/** A query is about one tenant: the only one of a token is the default. */
function noneOf(label: PlaceLabel, choices: readonly string[]): string {
  if (label !== "tenant") return "All";
  const [only, ...others] = choices;
  return only !== undefined && others.length === 0 ? `${only} (default)` : "Choose";
}

function earlierText(compare: string): string {
  return `${durationText(compare)} earlier`;
}

function stepsOf({ min_step: minStep }: CatalogEntry): readonly string[] {
  const least = secondsOf(minStep) ?? 0;
  return steps.filter((step) => (secondsOf(step) ?? 0) >= least);
}

/** The choices with one more where the address has another value. */
function withValue(choices: readonly string[], value: string): readonly string[] {
  return value === "" || choices.includes(value) ? choices : [value, ...choices];
}

interface MetricPickerProps {
  readonly entries: readonly CatalogEntry[];
  readonly metric: string;
  readonly onPick: (metric: string) => void;
}

function MetricPicker({ entries, metric, onPick }: MetricPickerProps): JSX.Element {
  const categories = [...new Set(entries.map(({ category }) => category))].sort();
  return (
    <label class="metric-picker">
      <span>Metric</span>
      <select value={metric} onChange={(event) => onPick(event.currentTarget.value)}>
        {categories.map((category) => (
          <optgroup key={category} label={category}>
            {entries
              .filter((entry) => entry.category === category)
              .map(({ metric_id: id }) => (
                <option key={id} value={id}>
                  {id}
                </option>
              ))}
          </optgroup>
        ))}
      </select>
    </label>
  );
}

interface ChoiceProps {
  readonly name: string;
  readonly label: string;
  readonly value: string;
  /** Text of the choice without a value. @default there is none */
  readonly none?: string;
  /** Text of a value. @default the value */
  readonly text?: (value: string) => string;
  readonly children: readonly string[];
}

function Choice({ name, label, value, none, text = String, children }: ChoiceProps): JSX.Element {
  return (
    <label>
      <span>{label}</span>
      <select name={name} value={value}>
        {none === undefined ? null : <option value="">{none}</option>}
        {children.map((one) => (
          <option key={one} value={one}>
            {text(one)}
          </option>
        ))}
      </select>
    </label>
  );
}

function GroupBy({ entry, request }: Pick<QueryFormProps, "entry" | "request">): JSX.Element | null {
  if (entry.labels.length === 0) return null;
  return (
    <fieldset class="check-list">
      <legend>Group by{entry.max_group_by > 0 ? ` (at most ${entry.max_group_by})` : ""}</legend>
      {entry.labels.map((label) => (
        <label key={label}>
          <input type="checkbox" name="group_by" value={label} checked={request.groupBy.includes(label)} />
          {label}
        </label>
      ))}
    </fieldset>
  );
}
