import type { JSX } from "preact";
import { TimeRangePicker } from "../components/time-range.tsx";
import { useQueryState } from "../router/router.tsx";
import { refreshIntervals, timesOf, type ExplorerQuery } from "./explorer-query.ts";
import { moveWindow, widenWindow, windowChange, windowOf } from "./time-window.ts";

interface TimeControlsProps {
  readonly request: ExplorerQuery;
  readonly nowMs: number;
  readonly onRefresh: () => void;
}

/** The time range of a chart, steps to its neighbours, and how often it is read again. */
export function TimeControls({ request, nowMs, onRefresh }: TimeControlsProps): JSX.Element {
  const state = useQueryState();
  const shown = windowOf(timesOf(request, nowMs));
  const isLive = request.range !== "";
  const steps = [
    ["Earlier", () => shown && moveWindow(shown, -1, nowMs)],
    ["Later", () => shown && moveWindow(shown, 1, nowMs)],
    ["Zoom out", () => shown && widenWindow(shown, nowMs)],
  ] as const;
  return (
    <div class="time-controls">
      <TimeRangePicker standard="1h" />
      <div class="actions">
        {steps.map(([label, next]) => (
          <button
            key={label}
            type="button"
            class="small"
            disabled={shown === undefined || (label === "Later" && isLive)}
            onClick={() => {
              const changed = next();
              if (changed !== undefined) state.set(windowChange(changed));
            }}
          >
            {label}
          </button>
        ))}
      </div>
      <div class="actions">
        <button type="button" class="small" onClick={onRefresh}>
          Refresh
        </button>
        <label class="inline-field">
          <span>Auto-refresh</span>
          <select
            class="small"
            value={request.refresh}
            disabled={!isLive}
            onChange={(event) => state.set({ refresh: event.currentTarget.value }, true)}
          >
            <option value="">Off</option>
            {refreshIntervals.map(({ name, label }) => (
              <option key={name} value={name}>
                {label}
              </option>
            ))}
          </select>
        </label>
      </div>
    </div>
  );
}
