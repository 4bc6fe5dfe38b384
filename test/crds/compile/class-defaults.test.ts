import { expect, test } from "vitest";
import { classDefaults } from "../../../crds/compile/class-defaults.ts";

test("every class keeps the seed's limits: 50 series and steps of 10 s (Operational Metrics API §8)", () => {
  for (const limits of Object.values(classDefaults))
    expect(limits).toMatchObject({ maxSeries: 50, minStepSeconds: 10 });
});
