import { expect, test } from "vitest";
import { reasons } from "../../crds/reasons.ts";
import { statusDefault } from "./status-default.ts";

test.each(["webhook-partner", "metric-catalog", "query-class-quota", "event-catalog"])(
  "a new object of %s says that no operator has looked at it",
  (name) => {
    const { status, meaning } = reasons.Ready.NoOperator;
    const condition = { type: "Ready", status, reason: "NoOperator", lastTransitionTime: "1970-01-01T00:00:00Z" };
    const message = `${meaning} Operators look only at the namespaces that they watch (docs/install.md).`;
    expect(statusDefault(name)).toEqual({ observedGeneration: 0, conditions: [{ ...condition, message }] });
  },
);
