import type { JSX } from "preact";
import { useQueryState } from "../router/router.tsx";
import { DataTable, type Column, type DataTableProps } from "./data-table.tsx";

/** A column that a table can be sorted by. */
export interface SortedColumn<Row> extends Column<Row> {
  /** Name in the address, such as `backlog`; null if rows are not sorted by it. */
  readonly name: string | null;
  /** Rows without a value are last, in both directions. */
  readonly value?: (row: Row) => number | string | null | undefined;
}

interface SortedTableProps<Row> extends Omit<DataTableProps<Row>, "columns"> {
  readonly columns: readonly SortedColumn<Row>[];
  /** Column without a choice, as in the address: `-backlog` is descending. */
  readonly standard: string;
}

/** A table whose headers sort it. The choice is in the address: `sort=backlog`, `sort=-backlog`. */
export function SortedTable<Row>({ columns, rows, standard, ...rest }: SortedTableProps<Row>): JSX.Element {
  const state = useQueryState();
  const sort = state.get("sort") === "" ? standard : state.get("sort");
  const [name, isDescending] = [sort.replace(/^-/u, ""), sort.startsWith("-")];
  const shown = columns.map((column): Column<Row> => {
    if (column.name === null || column.value === undefined) return column;
    const isCurrent = column.name === name;
    const next = isCurrent && !isDescending ? `-${column.name}` : column.name;
    return {
      ...column,
      sort: {
        to: state.to({ sort: next === standard ? null : next }),
        direction: isCurrent ? (isDescending ? "descending" : "ascending") : undefined,
      },
    };
  });
  const value = columns.find((column) => column.name === name)?.value;
  return <DataTable {...rest} columns={shown} rows={value === undefined ? rows : sorted(rows, value, isDescending)} />;
}

/** Sorts rows by a value; equal rows stay in their order. */
export function sorted<Row>(
  rows: readonly Row[],
  value: NonNullable<SortedColumn<Row>["value"]>,
  isDescending: boolean,
): readonly Row[] {
  const known = rows.map((row) => ({ row, of: value(row) ?? null }));
  const compare = (a: number | string, b: number | string): number => (a === b ? 0 : a < b ? -1 : 1);
  return known
    .toSorted((a, b) => {
      if (a.of === null || b.of === null) return Number(a.of === null) - Number(b.of === null);
      return isDescending ? compare(b.of, a.of) : compare(a.of, b.of);
    })
    .map(({ row }) => row);
}
