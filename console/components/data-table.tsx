import type { ComponentChildren, JSX } from "preact";

/** A column of a table of rows. */
export interface Column<Row> {
  readonly header: string;
  readonly cell: (row: Row) => ComponentChildren;
  /** Numbers stand to the right. @default false */
  readonly isNumber?: boolean;
}

interface DataTableProps<Row> {
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
}

/** A table. On narrow screens it scrolls by itself, also by keyboard. */
export function DataTable<Row>(props: DataTableProps<Row>): JSX.Element {
  const { caption, showsCaption = false, columns, rows, rowKey, empty } = props;
  if (rows.length === 0 && empty !== undefined) return <>{empty}</>;
  return (
    <div class="table-wrap" role="region" aria-label={caption} tabIndex={0}>
      <table>
        <caption class={showsCaption ? "" : "hidden"}>{caption}</caption>
        <thead>
          <tr>
            {columns.map(({ header, isNumber }) => (
              <th key={header} scope="col" class={isNumber === true ? "number" : ""}>
                {header}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={rowKey(row)}>{columns.map((column, index) => cellOf(column, row, index === 0))}</tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function cellOf<Row>({ header, cell, isNumber }: Column<Row>, row: Row, isName: boolean): JSX.Element {
  const look = isNumber === true ? "number" : "";
  return isName ? (
    <th key={header} scope="row" class={look}>
      {cell(row)}
    </th>
  ) : (
    <td key={header} class={look}>
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
