import type { JSX } from "preact";
import { useEffect, useId, useState } from "preact/hooks";
import { formatWord } from "../components/format.ts";
import { TimeRangePicker } from "../components/time-range.tsx";
import { Link, useQueryState } from "../router/router.tsx";
import { eventFields, type EventField } from "./event-filters.ts";
import { usePartnerNames } from "../api/use-partner-names.ts";
import type { KnownValues } from "./use-known-values.ts";

const valueLengthMax = 512;

/**
 * Time range and filters in one row; on narrow screens a button shows the filters. Each applies at once and is in the
 * address; the list starts at its first page.
 */
export function FilterBar({ known }: { readonly known: KnownValues }): JSX.Element {
  const state = useQueryState();
  const [typed, setTyped] = useState("");
  // The known ones are the first of many.
  const found = usePartnerNames(typed);
  const offered: KnownValues = { ...known, partner: [...new Set([...found, ...(known["partner"] ?? [])])] };
  const count = eventFields.filter(({ name }) => state.get(name) !== "").length;
  const id = useId();
  const [isOpen, setOpen] = useState(count > 0);
  const none = Object.fromEntries(["cursor", ...eventFields.map(({ name }) => name)].map((name) => [name, null]));
  return (
    <div class="filter-bar">
      <TimeRangePicker />
      <button
        type="button"
        class="filter-toggle"
        aria-expanded={isOpen}
        aria-controls={id}
        onClick={() => setOpen(!isOpen)}
      >
        {count === 0 ? "Filters" : `Filters (${count})`}
      </button>
      <div id={id} class={isOpen ? "filter-fields open" : "filter-fields"}>
        {eventFields.map((field) => (
          <FieldInput
            key={field.name}
            field={field}
            known={offered[field.name] ?? []}
            value={state.get(field.name)}
            onType={field.name === "partner" ? setTyped : undefined}
            onApply={(value) => state.set({ [field.name]: value, cursor: null })}
          />
        ))}
        {count === 0 ? null : <Link to={state.to(none)}>Clear filters</Link>}
      </div>
    </div>
  );
}

interface FieldInputProps {
  readonly field: EventField;
  readonly known: readonly string[];
  readonly value: string;
  readonly onType: ((text: string) => void) | undefined;
  readonly onApply: (value: string) => void;
}

function FieldInput({ field, known, value, onType, onApply }: FieldInputProps): JSX.Element {
  const { name, label, placeholder = "any", options } = field;
  const [typed, setTyped] = useState(value);
  useEffect(() => setTyped(value), [value]);
  if (options !== undefined) {
    return (
      <label>
        <span>{label}</span>
        <select name={name} value={value} onChange={(event) => onApply(event.currentTarget.value)}>
          <option value="">any</option>
          {options.map((option) => (
            <option key={option} value={option}>
              {formatWord(option)}
            </option>
          ))}
        </select>
      </label>
    );
  }
  const apply = (text: string): void => {
    if (text.trim() !== value) onApply(text.trim());
  };
  return (
    <label>
      <span>{label}</span>
      <input
        type="text"
        name={name}
        list={`known-${name}`}
        value={typed}
        placeholder={placeholder}
        maxLength={valueLengthMax}
        autoComplete="off"
        spellcheck={false}
        onInput={(event) => {
          setTyped(event.currentTarget.value);
          onType?.(event.currentTarget.value);
          if (isChoice(event)) apply(event.currentTarget.value);
        }}
        onChange={(event) => apply(event.currentTarget.value)}
      />
      <datalist id={`known-${name}`}>
        {known.map((one) => (
          <option key={one} value={one} />
        ))}
      </datalist>
    </label>
  );
}

/** A choice from the list of a field applies at once. Browsers report it without the type of typed text. */
function isChoice(event: Event): boolean {
  const { inputType } = event as Partial<InputEvent>;
  return inputType === undefined || inputType === "insertReplacementText";
}
