import { describe, expect, test } from "vitest";
import { auditVerdict } from "./audit.ts";

const report = (vulnerabilities: object): string =>
  JSON.stringify({ auditReportVersion: 2, vulnerabilities, metadata: {} });

describe("the audit of dependencies", () => {
  test("is clean when nothing is known", () => {
    expect(auditVerdict(report({}))).toEqual({ kind: "clean", lines: [] });
  });

  test("tells of what is known, and fails for what is grave", () => {
    const low = { tar: { severity: "moderate", range: "<7" } };
    expect(auditVerdict(report(low))).toEqual({ kind: "clean", lines: ["moderate: tar <7"] });
    expect(auditVerdict(report({ ...low, undici: { severity: "high", range: "<8.1.0" } }))).toEqual({
      kind: "vulnerable",
      lines: ["moderate: tar <7", "high: undici <8.1.0"],
    });
  });

  test.each([
    [
      "there is no network",
      JSON.stringify({ message: "request to https://registry failed, reason: ENOTFOUND" }),
      /ENOTFOUND/u,
    ],
    [
      "the registry has no audit",
      JSON.stringify({ error: { code: "ENOAUDIT", summary: "405 Method Not Allowed" } }),
      /405/u,
    ],
    ["nothing came in time", "", /no report/u],
    ["what came is no report", "[]", /no report/u],
  ])("is skipped, and says so, when %s", (_name, stdout, reason) => {
    expect(auditVerdict(stdout)).toEqual({ kind: "skipped", reason: expect.stringMatching(reason) });
  });
});
