import { bucketsPart, exemplarsPart, newestPart, questionVersion } from "../../metrics/promql/partial-question.ts";
import { filterValuesMax } from "../../metrics/request/parameters.ts";
import {
  closedObject,
  described,
  list,
  number,
  object,
  ref,
  text,
  words,
  type JsonSchema,
  type SchemaSet,
} from "./json-schema.ts";

const name = text({ minLength: 1, maxLength: 200 });
const time: JsonSchema = { type: "integer", minimum: 0, description: "Unix milliseconds" };

/** Requests between runtimes of different regions. */
export const peerSchemas: SchemaSet = {
  PartialQuestion: {
    anyOf: [
      closedObject({ version: { const: questionVersion }, ask: ref("PartialAsk"), over: ref("PartialTimes") }),
      described(
        closedObject({ version: { const: questionVersion }, probe: closedObject({ region: name }) }),
        "Whether a region is answered for",
      ),
    ],
  },
  PartialAsk: closedObject(
    {
      schema_version: name,
      region: name,
      regions: described(list(name, { maxItems: 64 }), "All regions that the partial is merged over"),
      metric: name,
      agg: ref("Aggregation"),
      part: described(name, `A statistic of the aggregation, or ${bucketsPart}, ${newestPart}, ${exemplarsPart}`),
      tenant: name,
      filters: {
        type: "object",
        propertyNames: ref("LabelName"),
        additionalProperties: {
          anyOf: [name, described(list(name, { minItems: 1, maxItems: filterValuesMax }), "Any of these")],
        },
      },
      group_by: list(ref("LabelName")),
    },
    {
      slo: name,
      environments: described(list(name, { maxItems: 64 }), "Absent: every environment"),
      points: closedObject({
        width_ms: { type: "integer", minimum: 1_000 },
        interval_seconds: { type: "number", minimum: 1, maximum: 86_400 },
        increases: words(["Extrapolated", "Plain"]),
      }),
      quantile: { type: "number", minimum: 0, maximum: 1 },
    },
  ),
  PartialTimes: {
    anyOf: [
      closedObject({ start_ms: time, count: { type: "integer", minimum: 1, maximum: 11_000 } }),
      closedObject({ time_ms: time }),
      closedObject({ from_ms: time, to_ms: time }),
    ],
  },
  PartialAnswer: object(
    {},
    {
      samples: list(object({ labels: { type: "object", additionalProperties: text() }, value: number })),
      exemplars: list(object({ labels: ref("Labels"), trace_id: text(), value: number, timestamp_ms: number })),
      increases: list(words(["Extrapolated", "Plain"])),
    },
  ),
};
