// Event types: their states, and schemas as trees.
import type { EventTypeState, EventTypeSummary } from "../../api/events.ts";
import type { JSX } from "preact";
import { Badge, type Tone } from "../components/badge.tsx";
import { Timestamp } from "../components/timestamp.tsx";

const tones: Readonly<Record<EventTypeState, Tone>> = { Active: "good", Deprecated: "warn", Retired: "quiet" };

/** The states of a type, to filter by. */
export const typeStates: readonly string[] = Object.keys(tones);

interface StateAndEndProps {
  readonly state: EventTypeState;
  /** The version whose end is shown. @default none */
  readonly end?: EventTypeSummary["versions"][number] | undefined;
}

/** A state, and when events of a deprecated version are rejected. */
export function StateAndEnd({ state, end }: StateAndEndProps): JSX.Element {
  const sunset = state === "Active" ? undefined : end?.sunset_at;
  return (
    <>
      <Badge state={state} tone={tones[state]} label={state.toLowerCase()} />
      {sunset === undefined ? null : (
        <span class="quiet">
          {" "}
          {state === "Retired" ? "ended" : "ends"} <Timestamp at={sunset} shows="age" />
        </span>
      )}
    </>
  );
}
