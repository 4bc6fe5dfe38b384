import type { Quota, QuotaAnswer } from "../../api/quotas.ts";
import type { Column } from "../api/output.ts";
import { sendForJson } from "../api/request.ts";
import { apiCommand } from "../api/with-api.ts";
import { shortNumber } from "./series.ts";

/** `heliograph quota`. It charges nothing. */
export const quotaCommand = apiCommand({
  summary: "Lists the caller's metric quotas and what remains of them.",
  read: () => ({}),
  run: async (connection, _args, output) => {
    const { data } = await sendForJson<QuotaAnswer>(connection, { path: "/v1/metrics/quota" });
    await output.list(columns, [data]);
  },
});

const columns: readonly Column<Quota>[] = [
  { title: "CLASS", cell: (quota) => quota.class },
  { title: "CLIENT", cell: ({ client }) => client },
  { title: "REQUESTS LEFT", cell: ({ requests }) => `${requests.remaining} of ${requests.burst}` },
  { title: "PER SECOND", cell: ({ requests }) => requests.limit_per_second },
  { title: "COST LEFT", cell: ({ cost }) => `${shortNumber(cost.remaining)} of ${shortNumber(cost.burst)}` },
  { title: "PER MINUTE", cell: ({ cost }) => shortNumber(cost.limit_per_minute) },
  { title: "RUNNING", cell: ({ concurrent: { used, limit } }) => `${used} of ${limit}` },
  { title: "KNOWN BY", cell: ({ known_by: source }) => source, isWide: true },
];
