import { expect, test } from "vitest";
import { includesTenant, tenantToScan } from "../../../../runtime/webhooks/ids.ts";

test.each<[readonly string[], boolean, string]>([
  [["acme"], true, "acme"],
  [["other"], false, "other"],
  [["other", "acme"], true, "*"],
  [["*"], true, "*"],
  [["other", "*"], true, "*"],
  [[], false, "*"],
])("tenants %j: whether acme is included, and the tenant to scan", (tenants, isIncluded, scanned) => {
  expect([includesTenant(tenants, "acme"), tenantToScan(tenants)]).toEqual([isIncluded, scanned]);
});
