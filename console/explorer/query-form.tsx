import type { Downsamples } from "../../api/queries.ts";
import type { CatalogEntry } from "../../api/catalog.ts";
import type { JSX } from "preact";
import type { QueryChange } from "../router/place.ts";
import { useQueryState } from "../router/router.tsx";
import { ranges, secondsOf, type AskedQuery } from "./asked-query.ts";
import { FilterInput } from "./filter-input.tsx";

interface QueryFormProps {
  readonly entry: CatalogEntry;
  readonly entries: readonly CatalogEntry[];
  readonly asked: AskedQuery;
  readonly nowMs: number;
}

const steps = ["10s", "15s", "30s", "1m", "5m", "15m", "1h", "6h", "1d"];
const downsamples: Downsamples = ["1m", "5m", "1h"];

/** The parameters of a query. Its buttons write them to the address; one of them runs the query too. */
export function QueryForm({ entry, entries, asked, nowMs }: QueryFormProps): JSX.Element {
  const state = useQueryState();
  const apply = (event: SubmitEvent): void => {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    state.set(changeOf(new FormData(form, event.submitter), entry, asked));
  };
  return (
    // A new form for each address, so that it shows what the address says.
    <form class="query-form" key={state.query.toString()} onSubmit={apply}>
      <div class="filters">
        <MetricPicker entries={entries} metric={entry.metric_id} onPick={(metric) => state.set(otherMetric(metric))} />
        <Choice name="agg" label="Aggregation" value={asked.agg} none={`${entry.default_aggregation} (default)`}>
          {entry.aggregations.filter((one) => one !== entry.default_aggregation)}
        </Choice>
        {asked.range === "" ? (
          <Times asked={asked} />
        ) : (
          <Choice name="range" label="Range up to now" value={asked.range}>
            {withValue(ranges, asked.range)}
          </Choice>
        )}
        <Choice name="step" label="Step" value={asked.step} none="by the range">
          {withValue(stepsOf(entry), asked.step)}
        </Choice>
        <Choice name="downsample" label="Downsample" value={asked.downsample} none="none">
          {withValue(downsamples, asked.downsample)}
        </Choice>
      </div>
      <div class="filters">
        {entry.labels.map((label) => (
          <FilterInput key={label} label={label} asked={asked} nowMs={nowMs} />
        ))}
      </div>
      <GroupBy entry={entry} asked={asked} />
      <div class="actions">
        <button type="submit" class="primary" name="run" value="1">
          Run
        </button>
        <button type="submit" name="run" value="">
          Plan only
        </button>
        <button type="button" onClick={() => state.set(spanChange(asked, nowMs))}>
          {asked.range === "" ? "Up to now" : "Between two times"}
        </button>
      </div>
    </form>
  );
}

/** The address after another metric was picked: nothing of the former one fits it. */
function otherMetric(metric: string): QueryChange {
  return { metric, agg: null, group_by: null, step: null, downsample: null, page: null, run: null };
}

function spanChange(asked: AskedQuery, nowMs: number): QueryChange {
  if (asked.range === "") return { from: null, to: null, run: null };
  const from = new Date(nowMs - (secondsOf(asked.range) ?? 0) * 1_000).toISOString();
  return { from, to: new Date(nowMs).toISOString(), range: null, run: null };
}

function changeOf(values: FormData, { labels }: CatalogEntry, asked: AskedQuery): QueryChange {
  const text = (name: string): string => {
    const value = values.get(name);
    return typeof value === "string" ? value.trim() : "";
  };
  const names = ["agg", "step", "downsample", "run", ...(asked.range === "" ? [] : ["range"])];
  const times = asked.range === "" ? { from: timeOf(text("from")), to: timeOf(text("to")) } : {};
  return {
    ...Object.fromEntries(names.map((name) => [name, text(name)])),
    ...Object.fromEntries(labels.map((label) => [`filter[${label}]`, text(`filter[${label}]`)])),
    group_by: labels.filter((label) => values.getAll("group_by").includes(label)).join(","),
    page: null,
    ...times,
  };
}

/** The value of a field of local time, which holds UTC here, as ISO 8601. */
function timeOf(value: string): string {
  return value === "" || value.endsWith("Z") ? value : `${value}${value.length === 16 ? ":00" : ""}Z`;
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
    <label>
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
  readonly children: readonly string[];
}

function Choice({ name, label, value, none, children }: ChoiceProps): JSX.Element {
  return (
    <label>
      <span>{label}</span>
      <select name={name} value={value}>
        {none === undefined ? null : <option value="">{none}</option>}
        {children.map((one) => (
          <option key={one} value={one}>
            {one}
          </option>
        ))}
      </select>
    </label>
  );
}

function Times({ asked }: { readonly asked: AskedQuery }): JSX.Element {
  const times = [
    ["from", "From, UTC", asked.from],
    ["to", "To, UTC", asked.to],
  ] as const;
  return (
    <>
      {times.map(([name, label, value]) => (
        <label key={name}>
          <span>{label}</span>
          <input type="datetime-local" name={name} step={1} value={value.replace(/(?:\.\d+)?Z$/u, "")} />
        </label>
      ))}
    </>
  );
}

function GroupBy({ entry, asked }: Pick<QueryFormProps, "entry" | "asked">): JSX.Element | null {
  if (entry.labels.length === 0) return null;
  return (
    <fieldset class="check-list">
      <legend>Group by{entry.max_group_by > 0 ? `, at most ${entry.max_group_by}` : ""}</legend>
      {entry.labels.map((label) => (
        <label key={label}>
          <input type="checkbox" name="group_by" value={label} checked={asked.groupBy.includes(label)} />
          {label}
        </label>
      ))}
    </fieldset>
  );
}
