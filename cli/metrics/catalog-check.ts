import type { CatalogCheck, CatalogChecksAnswer } from "../../api/catalog.ts";
import type { Column } from "../api/output.ts";
import { sendForJson } from "../api/request.ts";
import { apiCommand } from "../api/with-api.ts";

/** `heliograph catalog check` */
export const catalogCheckCommand = apiCommand({
  summary: "Lists how metrics compare with the series of their stores, for CI.",
  read: () => ({}),
  run: async (connection, _args, output) => {
    const { data } = await sendForJson<CatalogChecksAnswer>(connection, { path: "/v1/metrics/catalog/checks" });
    await output.list(columns, [data]);
    return exitOf(data);
  },
});

/** A metric that is not known to match does not pass; one that this server cannot compare does. */
export function exitOf(checks: readonly Pick<CatalogCheck, "status">[]): "done" | "problems" {
  return checks.some(({ status }) => status === "False" || status === "Unknown") ? "problems" : "done";
}

const columns: readonly Column<CatalogCheck>[] = [
  { title: "METRIC", cell: ({ metric_id: id }) => id },
  { title: "STATUS", cell: ({ status }) => status },
  { title: "CHECK", cell: ({ check }) => check ?? "" },
  { title: "MESSAGE", cell: ({ message }) => message },
];
