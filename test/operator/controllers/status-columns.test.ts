import { expect, test } from "vitest";
import { columnsOf, showsColumns } from "../../../operator/controllers/status-decision.ts";
import type { ResourceObject } from "../../../operator/resource-types.ts";

const partner = (url: string) => ({ kind: "WebhookPartner", spec: { endpoint: { url } } }) as ResourceObject;

test.each([
  ["https://partner.example/v1/{domain}", "partner.example"],
  ["https://partner.example:8443", "partner.example:8443"],
  ["http://[2001:db8::1]:80/hooks?a=b", "[2001:db8::1]:80"],
  ["https://partner.example/in/secret-token", "partner.example"],
])("of %s show the host %s alone", (url, endpointHost) => {
  expect(columnsOf(partner(url))).toEqual({ endpointHost });
});

test("are written again when the spec or the status of an earlier version differs", () => {
  const columns = columnsOf(partner("https://partner.example/v1"));
  expect(showsColumns({ endpointHost: "partner.example", conditions: [] }, columns)).toBe(true);
  expect(showsColumns({ conditions: [] }, columns)).toBe(false);
  expect(showsColumns({ endpointHost: "other.example" }, columns)).toBe(false);
});
