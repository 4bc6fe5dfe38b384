import type { ComponentChildren, JSX } from "preact";
import { Link } from "../router/router.tsx";

/** A column of a table of rows. */
export interface Column<Row> {
  readonly header: string;
  readonly cell: (row: Row) => ComponentChildren;
  /** Numbers stand to the right. @default false */
  readonly isNumber?: boolean;
  /** Shown on cards too. @default false */
  readonly isInCard?: boolean;
  /** Where the header leads, which sorts the rows, and their order now. @default the rows are not sorted */
  readonly sort?: { readonly to: string; readonly direction: "ascending" | "descending" | undefined };
}

export interface DataTableProps<Row> {
  /** What the table holds; its name for screen readers. */
  readonly caption: string;
  /** @default only screen readers read the caption */
  readonly showsCaption?: boolean;
  /** The first one names the row. */
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly rowKey: (row: Row) => string;
  /** Instead of a table without rows. */
  readonly empty?: ComponentChildren;
  /** On narrow screens, rows are cards with the columns marked for them. @default the table scrolls */
  readonly isCards?: boolean;
  /** Class of the table's frame, for the style sheet. `labelled`: cards name their values. @default none */
  readonly look?: string;
  /** Marks the row that the address names. */
  readonly isCurrent?: (row: Row) => boolean;
}

/** A table. On narrow screens it scrolls by itself, also by keyboard. */
export function DataTable<Row>(props: DataTableProps<Row>): JSX.Element {
  const { caption, showsCaption = false, columns, rows, rowKey, empty, isCards = false, look = "", isCurrent } = props;
  if (rows.length === 0 && empty !== undefined) return <>{empty}</>;
  return (
    <div
      class={`table-wrap${isCards ? " card-rows" : ""} ${look}`.trim()}
      role="region"
      aria-label={caption}
      tabIndex={0}
    >
      <table>
        <caption class={showsCaption ? "" : "hidden"}>{caption}</caption>
        <thead>
          <tr>
            {columns.map(({ header, isNumber, sort }) => (
              <th
                key={header}
                scope="col"
                class={isNumber === true ? "number" : ""}
                {...(sort?.direction === undefined ? {} : { "aria-sort": sort.direction })}
              >
                {sort === undefined ? header : <SortLink header={header} sort={sort} />}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={rowKey(row)} {...(isCurrent?.(row) === true ? { "aria-current": "true" as const } : {})}>
              {columns.map((column, index) => cellOf(column, row, index === 0))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

const arrows = { ascending: "▲", descending: "▼" } as const;

function SortLink({ header, sort: { to, direction } }: SortLinkProps): JSX.Element {
  return (
    <Link to={to} class="sort">
      {header} <span aria-hidden="true">{direction === undefined ? "" : arrows[direction]}</span>
    </Link>
  );
}

interface SortLinkProps {
  readonly header: string;
  readonly sort: NonNullable<Column<never>["sort"]>;
}

function cellOf<Row>({ header, cell, isNumber, isInCard }: Column<Row>, row: Row, isName: boolean): JSX.Element {
  const look = `${isNumber === true ? "number" : ""}${isInCard === true ? " in-card" : ""}`.trim();
  return isName ? (
    <th key={header} scope="row" class={look}>
      {cell(row)}
    </th>
  ) : (
    <td key={header} class={look} data-label={header}>
      {cell(row)}
    </td>
  );
}

interface FactsProps {
  /** Names and values; a value of undefined leaves its line out. */
  readonly facts: readonly (readonly [name: string, value: ComponentChildren | undefined])[];
}

/** Names and values of one thing. */
export function Facts({ facts }: FactsProps): JSX.Element {
  return (
    <dl class="facts">
      {facts.flatMap(([name, value]) =>
        value === undefined
          ? []
          : [
              <div key={name}>
                <dt>{name}</dt>
                <dd>{value}</dd>
              </div>,
            ],
      )}
    </dl>
  );
}
