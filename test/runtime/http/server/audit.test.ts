import { pino } from "pino";
import { describe, expect, test } from "vitest";
import { createAudit, isAudited, type RejectedAccess } from "../../../../runtime/http/server/request-log.ts";

const refused: RejectedAccess = {
  code: "tenant_forbidden",
  detail: "this caller is not allowed to read the tenant b",
  correlationId: "c-1",
  method: "GET",
  route: "/v1/metrics/query",
  address: "10.0.0.1",
  client: "dashboards",
};

function audited(): {
  readonly lines: Record<string, unknown>[];
  readonly clock: { nowMs: number };
  readonly audit: ReturnType<typeof createAudit>;
} {
  const lines: Record<string, unknown>[] = [];
  const clock = { nowMs: 0 };
  const log = pino({}, { write: (line: string) => lines.push(JSON.parse(line) as Record<string, unknown>) });
  return { lines, clock, audit: createAudit(log, () => clock.nowMs) };
}

describe("the audit", () => {
  test("holds one line for a refusal, with who, what, where and why", () => {
    const { lines, audit } = audited();
    audit(refused);
    expect(lines).toMatchObject([{ audit: "refused", msg: "access denied", ...refused }]);
  });

  test("is bounded, and reports the number of omitted lines", () => {
    const { lines, clock, audit } = audited();
    for (let count = 0; count < 1000; count += 1) audit(refused);
    expect(lines).toHaveLength(200);
    clock.nowMs = 1000;
    for (let count = 0; count < 1000; count += 1) audit(refused);
    expect(lines).toHaveLength(220);
    expect(lines[200]).toMatchObject({ leftOut: 800 });
    expect(lines[201]).not.toHaveProperty("leftOut");
  });

  test("is of who and what may not, not of other faults", () => {
    expect([401, 403, 400, 404, 429, 500].filter(isAudited)).toEqual([401, 403]);
  });
});
