import { inStore, kinds } from "../../runtime/metrics/oracle/asked.ts";
import type { Answer, AnswerBody, AnsweredExemplar, AnsweredSeries } from "../answers.ts";
import type { KeptExemplar, StoreRecord } from "../store-record.ts";

/** Exemplars that were never written, or to other series than those of the answer, or outside of its window. */
export function exemplarFaults(
  { panel }: Answer,
  { series, grid }: AnswerBody,
  records: readonly StoreRecord[],
): readonly string[] {
  const filters = { ...panel.filters, tenant: panel.tenant };
  const isOf = ({ labels, name }: KeptExemplar, { metric, labels: grouped }: AnsweredSeries): boolean =>
    panel.metrics.some((id) => id === metric && kinds[id].name === name) &&
    Object.entries({ ...grouped, ...filters }).every(([label, value]) => labels[inStore(label)] === value);
  const isTold = ({ ms, value }: KeptExemplar, told: AnsweredExemplar): boolean =>
    Date.parse(told.timestamp) === ms && told.value === value && ms >= grid.fromMs && ms <= grid.toMs;
  return series.flatMap((one) =>
    one.exemplars.flatMap((told) => {
      const written = records.map((record) => record.exemplar(told.trace_id)).find((kept) => kept !== undefined);
      return written !== undefined && isOf(written, one) && isTold(written, told)
        ? []
        : [`the exemplar ${JSON.stringify(told)} was written as ${JSON.stringify(written)}`];
    }),
  );
}
