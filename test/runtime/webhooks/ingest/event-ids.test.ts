import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { eventTexts } from "../../../../api/events.ts";
import type { EventIdForm } from "../../../../runtime/config/settings/settings.ts";
import { eventIdProblem, isExclusiveId } from "../../../../runtime/webhooks/ingest/event-ids.ts";

const uuid = "0190d9f0-7f2a-7c3e-8b1d-3f5a6b7c8d9e";
const ulid = "01ARZ3NDEKTSV4RRFFQ69G5FAV";

const codeOf = (eventId: string, forms: readonly EventIdForm[], tenant = "acme"): string | undefined =>
  eventIdProblem({ eventId, tenant }, forms)?.code;

describe("the form of an event id", () => {
  test.each([
    ["any id, where no form is demanded", [], "payout 1001".replace(" ", "-"), "acme"],
    ["a UUID", ["Uuid"], uuid, "acme"],
    ["a UUID in capitals", ["Uuid"], uuid.toUpperCase(), "acme"],
    ["a ULID", ["Ulid"], ulid, "acme"],
    ["a ULID in small letters", ["Ulid"], ulid.toLowerCase(), "acme"],
    ["a tenant with a dot", ["TenantPrefix"], "acme.1001", "acme"],
    ["a tenant with a colon", ["TenantPrefix"], "acme:1001", "acme"],
    ["a tenant with a slash", ["TenantPrefix"], "acme/1001", "acme"],
    ["the prefix of an event without a tenant", ["TenantPrefix"], "-.1001", "-"],
    ["one of several forms", ["Uuid", "TenantPrefix"], "acme.1001", "acme"],
  ] as readonly (readonly [string, readonly EventIdForm[], string, string])[])("is %s", (_, forms, eventId, tenant) => {
    expect(codeOf(eventId, forms, tenant)).toBeUndefined();
  });

  test.each([
    ["a UUID without its hyphens", ["Uuid"], uuid.replaceAll("-", "")],
    ["a UUID with more behind it", ["Uuid"], `${uuid}-1`],
    ["a ULID of more than 128 bits", ["Ulid"], `8${ulid.slice(1)}`],
    ["a ULID with a letter that is none of its digits", ["Ulid"], ulid.replace("A", "U")],
    ["the tenant alone", ["TenantPrefix"], "acme."],
    ["another tenant whose name begins alike", ["TenantPrefix"], "acme-eu.1001"],
    ["another tenant", ["TenantPrefix"], "zeta.1001"],
    ["none of several forms", ["Uuid", "Ulid", "TenantPrefix"], "1001"],
  ] as readonly (readonly [string, readonly EventIdForm[], string])[])("is not %s", (_, forms, eventId) => {
    expect(codeOf(eventId, forms)).toBe("id_form");
  });

  test("is named in the refusal", () => {
    expect(eventIdProblem({ eventId: "1", tenant: "acme" }, ["Uuid", "TenantPrefix"])).toEqual({
      field: "event_id",
      code: "id_form",
      detail:
        "event_id must be a UUID, or the event's tenant (- if it has none), one of . : / and at least one more " +
        "character",
    });
  });
});

test("an id of operational events is refused to producers", () => {
  expect(codeOf("heliograph:exhausted:d:1", [])).toBe("not_allowed");
  expect(codeOf("heliograph-1", [])).toBeUndefined();
});

describe("an id that begins with its tenant", () => {
  const exclusive = (eventId: string, idForms: readonly EventIdForm[], idCheck: "Installation" | "Tenant" = "Tenant") =>
    isExclusiveId({ eventId, tenant: "acme" }, { idForms, idCheck });

  test("belongs to no other tenant if the form is demanded and ids are looked up in the tenant", () => {
    expect(exclusive("acme.1", ["TenantPrefix"])).toBe(true);
    expect(exclusive("acme.1", ["Uuid", "TenantPrefix"])).toBe(true);
    expect(exclusive("acme.1", ["TenantPrefix"], "Installation")).toBe(false);
    expect(exclusive("acme.1", ["Uuid"])).toBe(false);
    expect(exclusive("acme.1", [])).toBe(false);
    expect(exclusive(uuid, ["Uuid", "TenantPrefix"])).toBe(false);
  });

  test("that is accepted from one tenant is accepted from no other, in any mix of forms", () => {
    const tenant = fc.stringMatching(new RegExp(eventTexts.tenant.pattern, "u"));
    const rest = fc.stringMatching(/^[\x21-\x7e]{1,40}$/u);
    const forms = fc.subarray(["Uuid", "Ulid"] as const).map((more) => [...more, "TenantPrefix"] as const);
    fc.assert(
      fc.property(tenant, tenant, fc.constantFrom(".", ":", "/"), rest, forms, (one, other, end, more, idForms) => {
        const eventId = one + end + more;
        fc.pre(one !== other && isExclusiveId({ eventId, tenant: one }, { idForms, idCheck: "Tenant" }));
        // Also if the other tenant's name begins or ends alike.
        for (const holder of [other, one + other, one.slice(0, -1)].filter((name) => name !== "" && name !== one))
          expect(eventIdProblem({ eventId, tenant: holder }, idForms)).toBeDefined();
      }),
    );
  });
});
