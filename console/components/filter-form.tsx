import type { PartnerSummary } from "../../api/partners.ts";
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { ListPage } from "../api/types.ts";
import { usePartnerNames } from "../api/use-partner-names.ts";
import { useRead } from "../api/use-read.ts";
import { Link, useQueryState } from "../router/router.tsx";
import { Empty } from "./empty.tsx";
import { Reading } from "./reading.tsx";

/** A filter of a list: a parameter of the address. */
export interface FilterField {
  readonly name: string;
  readonly label: string;
  /** `partner`: a text that offers the partners whose names contain it. @default "text" */
  readonly kind?: "text" | "select" | "number" | "partner";
  /** Of a `select`, whose first choice is always "any". */
  readonly options?: readonly (string | { readonly value: string; readonly label: string })[];
  readonly placeholder?: string;
}

/** The field of lists by partner. */
export const partnerField: FilterField = {
  name: "partner",
  label: "Partner",
  kind: "partner",
  placeholder: "namespace/name or a part",
};

/** The value of the filter by partner if it cannot be a complete name, `namespace/name`; undefined otherwise. */
export function partOfPartner(query: URLSearchParams): string | undefined {
  const value = query.get(partnerField.name) ?? "";
  return value === "" || value.includes("/") ? undefined : value;
}

interface PartnerMatchProps {
  /** The list, which needs a complete name. */
  readonly children: ComponentChildren;
}

/** A list, or the partners to choose from while its filter has a part of a name. The only one is chosen at once. */
export function PartnerMatch({ children }: PartnerMatchProps): JSX.Element {
  const part = partOfPartner(useQueryState().query);
  return part === undefined ? <>{children}</> : <PartnerChoice part={part} />;
}

const choicesMax = 20;

function PartnerChoice({ part }: { readonly part: string }): JSX.Element {
  const state = useQueryState();
  const query = new URLSearchParams({ search: part, limit: String(choicesMax) });
  const read = useRead<ListPage<PartnerSummary>>(`/webhooks/partners?${query.toString()}`);
  const found = read.isStale ? undefined : read.data?.data;
  const only = found?.length === 1 ? found[0]?.partner : undefined;
  useEffect(() => {
    if (only !== undefined) state.set({ partner: only, cursor: null }, true);
  }, [only]);
  return (
    <Reading read={read} what="the partners" lines={4}>
      {({ data, meta }) =>
        data.length === 0 ? (
          <Empty
            title="No partner matches"
            why={`No partner that your token may see has ${part} in its name.`}
            next={<Link to={state.to({ partner: null, cursor: null })}>Show all partners</Link>}
          />
        ) : (
          <nav class="notice" aria-label="Matching partners">
            <p class="notice-title">Choose a partner</p>
            <ul class="plain">
              {data.map(({ partner }) => (
                <li key={partner}>
                  <Link to={state.to({ partner, cursor: null })}>{partner}</Link>
                </li>
              ))}
            </ul>
            {meta.cursor === null ? null : <p>These are the first {choicesMax}. Enter more of the name.</p>}
          </nav>
        )
      }
    </Reading>
  );
}

interface FilterFormProps {
  readonly fields: readonly FilterField[];
  /** Text of the button. @default "Apply" */
  readonly action?: string;
}

const valueLengthMax = 512;

/** Filters of a list. They become the address, so that a filtered list can be shared; the list begins anew. */
export function FilterForm({ fields, action = "Apply" }: FilterFormProps): JSX.Element {
  const state = useQueryState();
  const apply = (event: SubmitEvent): void => {
    event.preventDefault();
    const values = new FormData(event.currentTarget as HTMLFormElement);
    const change = fields.map((field) => [field.name, storedValue(values.get(field.name))] as const);
    state.set({ ...Object.fromEntries(change), cursor: null });
  };
  const form = useRef<HTMLFormElement>(null);
  const address = state.query.toString();
  // The form shows what the address has. A new form would lose the focus of the old one.
  useLayoutEffect(() => {
    for (const { name } of fields) {
      const field = form.current?.elements.namedItem(name);
      if (field instanceof HTMLInputElement || field instanceof HTMLSelectElement) field.value = state.get(name);
    }
  }, [address]);
  const isFiltered = fields.some(({ name }) => state.get(name) !== "");
  const none = Object.fromEntries(["cursor", ...fields.map(({ name }) => name)].map((name) => [name, null]));
  return (
    <form ref={form} class="filters" onSubmit={apply}>
      {fields.map((field) => (
        <label key={field.name}>
          <span>{field.label}</span>
          {inputOf(field, state.get(field.name))}
        </label>
      ))}
      <button type="submit">{action}</button>
      {isFiltered ? <Link to={state.to(none)}>Clear</Link> : null}
    </form>
  );
}

function inputOf(field: FilterField, value: string): JSX.Element {
  const { name, kind = "text", options = [], placeholder = "" } = field;
  if (kind === "select") {
    return (
      <select name={name} value={value}>
        <option value="">any</option>
        {options.map((option) => {
          const one = typeof option === "string" ? { value: option, label: option.replaceAll("_", " ") } : option;
          return (
            <option key={one.value} value={one.value}>
              {one.label}
            </option>
          );
        })}
      </select>
    );
  }
  const props = { name, defaultValue: value, placeholder, maxLength: valueLengthMax };
  if (kind === "number") return <input {...props} type="number" />;
  if (kind === "partner") return <PartnerInput {...props} />;
  return <input {...props} type="text" />;
}

interface PartnerInputProps {
  readonly name: string;
  readonly defaultValue: string;
  readonly placeholder: string;
  readonly maxLength: number;
}

function PartnerInput(props: PartnerInputProps): JSX.Element {
  const [typed, setTyped] = useState("");
  const list = `offered-${props.name}`;
  return (
    <>
      <input
        {...props}
        type="text"
        list={list}
        autoComplete="off"
        onInput={(event) => setTyped(event.currentTarget.value)}
      />
      <datalist id={list}>
        {usePartnerNames(typed).map((partner) => (
          <option key={partner} value={partner} />
        ))}
      </datalist>
    </>
  );
}

function storedValue(value: FormDataEntryValue | null): string | null {
  return typeof value !== "string" || value.trim() === "" ? null : value.trim();
}
