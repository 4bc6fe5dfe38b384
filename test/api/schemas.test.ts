import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, test } from "vitest";
import { signingSchemes } from "../../api/histories.ts";
import { aggregations, labelNames } from "../../api/queries.ts";
import { bundled, schemas } from "../../api/schemas.ts";
import { aggregations as ofCatalogs, labelNames as ofLabels } from "../../crds/config.ts";
import { signingSchemes as ofPartners } from "../../crds/signing-key.ts";

describe("the schemas of the API", () => {
  test.each(Object.keys(schemas))("%s compiles alone, without a keyword that Ajv does not know", (name) => {
    // Alternatives may require members that another branch defines.
    const options = { strict: true, strictRequired: false, allowUnionTypes: true, validateFormats: false } as const;
    expect(() => new Ajv2020(options).compile(bundled(name))).not.toThrow();
  });

  test("have the words of the resources, which import nothing of the API", () => {
    expect(aggregations).toEqual(ofCatalogs);
    expect(labelNames).toEqual(ofLabels);
    expect(signingSchemes).toEqual(ofPartners);
  });
});
