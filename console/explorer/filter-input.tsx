import type { LabelValuesAnswer } from "../../api/queries.ts";
import type { JSX } from "preact";
import { useEffect, useId, useState } from "preact/hooks";
import { choicesOf, isPlaceLabel } from "../api/choices.ts";
import { useSession } from "../api/session-context.ts";
import { useRead } from "../api/use-read.ts";
import { labelValuesPath, type ExplorerQuery } from "./explorer-query.ts";

interface FilterInputProps {
  readonly label: string;
  readonly request: ExplorerQuery;
  readonly nowMs: number;
  /** @default the label */
  readonly title?: string;
}

const valueLengthMax = 200;

/** One filter. Its values are read when it gets the focus, since reading them takes tokens of the quota. */
export function FilterInput({ label, request, nowMs, title = label }: FilterInputProps): JSX.Element {
  const id = useId();
  const [isWanted, setWanted] = useState(false);
  const { values, fault } = useValues(label, request, isWanted ? nowMs : undefined);
  const stored = request.filters[label] ?? "";
  // Values that arrive while somebody types leave the text alone.
  const [text, setText] = useState(stored);
  useEffect(() => setText(stored), [stored]);
  return (
    <label>
      <span>{title}</span>
      <input
        type="text"
        name={`filter[${label}]`}
        value={text}
        placeholder="any"
        maxLength={valueLengthMax}
        list={`${id}-values`}
        autoComplete="off"
        onFocus={() => setWanted(true)}
        onInput={(event) => setText(event.currentTarget.value)}
        {...(fault === undefined ? {} : { "aria-describedby": `${id}-problem` })}
      />
      <datalist id={`${id}-values`}>
        {values.map((value) => (
          <option key={value} value={value} />
        ))}
      </datalist>
      {fault === undefined ? null : (
        <span id={`${id}-problem`} class="hint">
          No suggestions: {fault}
        </span>
      )}
    </label>
  );
}

/** Values of a label: for tenants those of the token, for others those of the API. @param nowMs undefined: none */
function useValues(
  label: string,
  request: ExplorerQuery,
  nowMs: number | undefined,
): { readonly values: readonly string[]; readonly fault: string | undefined } {
  const { me } = useSession();
  const own = isPlaceLabel(label) ? choicesOf(me, label) : undefined;
  const path = nowMs === undefined || own !== undefined ? undefined : labelValuesPath(request, label, nowMs);
  const { data, problem } = useRead<LabelValuesAnswer>(path);
  return { values: own ?? data?.data ?? [], fault: problem?.detail };
}
