import { describe, expect, test } from "vitest";
import { auditResult } from "./audit.ts";

const report = (vulnerabilities: object): string =>
  JSON.stringify({ auditReportVersion: 2, vulnerabilities, metadata: {} });

describe("the audit of dependencies", () => {
  test("is clean when nothing is known", () => {
    expect(auditResult(report({}))).toEqual({ kind: "clean", lines: [] });
  });

  test("reports every known vulnerability, and fails for grave ones", () => {
    const low = { tar: { severity: "moderate", range: "<7" } };
    expect(auditResult(report(low))).toEqual({ kind: "clean", lines: ["moderate: tar <7"] });
    expect(auditResult(report({ ...low, undici: { severity: "high", range: "<8.1.0" } }))).toEqual({
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
    expect(auditResult(stdout)).toEqual({ kind: "skipped", reason: expect.stringMatching(reason) });
  });
});
