import { inStore, kinds } from "../../runtime/metrics/oracle/asked.ts";
import type { ProbeResponse, ResponseBody, ResponseExemplar, ResponseSeries } from "../responses.ts";
import type { KeptExemplar, StoreRecord } from "../store-record.ts";

/** Exemplars that were never written, or to other series than those of the answer, or outside of its window. */
export function exemplarFaults(
  { panel, receivedMs }: ProbeResponse,
  { series, grid }: ResponseBody,
  records: readonly StoreRecord[],
): readonly string[] {
  const filters = { ...panel.filters, tenant: panel.tenant };
  // They do not wait for a whole point.
  const toMs = panel.window.kind === "fixed" ? panel.window.toMs : receivedMs;
  const isOf = ({ labels, name }: KeptExemplar, { metric, labels: grouped }: ResponseSeries): boolean =>
    panel.metrics.some((id) => id === metric && kinds[id].name === name) &&
    Object.entries({ ...grouped, ...filters }).every(([label, value]) => labels[inStore(label)] === value);
  const isReported = ({ ms, value }: KeptExemplar, reported: ResponseExemplar): boolean =>
    Date.parse(reported.timestamp) === ms && reported.value === value && ms >= grid.fromMs && ms <= toMs;
  return series.flatMap((one) =>
    one.exemplars.flatMap((reported) => {
      const written = records.map((record) => record.exemplar(reported.trace_id)).find((kept) => kept !== undefined);
      return written !== undefined && isOf(written, one) && isReported(written, reported)
        ? []
        : [`the exemplar ${JSON.stringify(reported)} was written as ${JSON.stringify(written)}`];
    }),
  );
}
