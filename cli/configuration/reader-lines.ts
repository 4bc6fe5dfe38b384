import { readerDays, type PreviewedReaders, type PreviewedResources } from "../../api/previews.ts";

/** Writes a table in the form of the output. */
export type Table = (
  heads: readonly string[],
  align: readonly string[],
  rows: readonly (readonly string[])[],
) => readonly string[];

/** A difference. Two folders have no readers, and neither have previews of older servers. */
interface Difference {
  readonly resources: PreviewedResources;
  readonly readers?: PreviewedReaders;
}

const readerTitles = ["Removed", "Client", "Requests"];
const readerAlign = ["---", "---", "---:"];

/** The clients that used what is removed. */
export function readerLines({ readers }: Difference, table: Table): readonly string[] {
  if (readers === undefined || readers.removed.length === 0) return [];
  const rows = readers.removed.flatMap((removal) => {
    const { metric, what, name } = removal;
    const removed = name === null ? metric : `${metric}, ${what} ${name}`;
    return readerRows(removal, readers).map((cells) => [removed, ...cells]);
  });
  return [
    "",
    `Clients in the last ${readerDays} days of what is removed:`,
    "",
    ...table(readerTitles, readerAlign, rows),
  ];
}

function readerRows(
  { clients, more_clients: more, unknown_requests: unknown }: PreviewedReaders["removed"][number],
  { complete, clients_shown: shown }: PreviewedReaders,
): readonly (readonly string[])[] {
  if (clients === null) return [["unknown", "unknown"]];
  const isSure = complete && shown === "all" && unknown === 0;
  const known = clients.map(({ client, requests }) => [client, String(requests)]);
  return [
    ...(known.length === 0 ? [[isSure ? "none" : "none known", "0"]] : known),
    ...(more === 0 ? [] : [[`${more} more clients`, ""]]),
    ...(unknown === 0 ? [] : [["unknown", `at most ${unknown}`]]),
  ];
}

const catalogPrefix = "MetricCatalog/";

/** What is not known of the clients of removed metrics. */
export function readerNotes({ readers, resources }: Difference): readonly string[] {
  const { removed, changed } = resources;
  const touched = [...removed, ...changed.map(({ object }) => object)].some((name) => name.startsWith(catalogPrefix));
  if (readers === undefined) return touched ? ["Not compared: clients that use what is removed from metrics."] : [];
  if (readers.removed.length === 0) return [];
  const { unavailable, clients_shown: shown, complete, omitted, from } = readers;
  if (unavailable !== undefined) return [`Clients that use what is removed are unknown: ${unavailable}.`];
  return [
    ...(shown === "all" ? [] : ["Only your client is shown; a token with metrics:usage sees all clients."]),
    ...(complete ? [] : [`Usage since ${from} is incomplete: clients may be missing.`]),
    ...(omitted === 0 ? [] : [`${omitted} more removals are not shown.`]),
  ];
}
