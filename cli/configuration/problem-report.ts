import { plain } from "../command-line/plain.ts";
import type { SourceProblem } from "../../runtime/config/yaml/yaml-documents.ts";
import type { Configuration } from "./read-configuration.ts";

/** Form of a report: lines for people, or a document for programs. */
export type ReportForm = "text" | "json" | "sarif";

/** The standard output of `validate`. */
export function problemReport(form: ReportForm, configuration: Configuration, version: string): string {
  const { problems, warnings } = configuration;
  switch (form) {
    case "text":
      return problems.map((problem) => `${lineOf(problem)}\n`).join("");
    case "json":
      return pretty({ resources: resourceCount(configuration), problems, warnings });
    case "sarif":
      return pretty(sarifLog(problems, warnings, version));
  }
}

/** `file:line: field: reason: message` */
function lineOf({ file, line, field, reason, message }: SourceProblem): string {
  return plain([`${file}:${line}`, ...(field === "" ? [] : [field]), reason, message].join(": "));
}

/** Resources in force. */
export function resourceCount({ config }: Configuration): number {
  return config.partners.length + config.catalogs.length + config.quotas.length;
}

function pretty(value: unknown): string {
  return `${JSON.stringify(value, undefined, 2)}\n`;
}

/** A log of one run. Source: OASIS SARIF 2.1.0, clauses 3.13, 3.14, 3.27. */
function sarifLog(problems: readonly SourceProblem[], warnings: readonly SourceProblem[], version: string): object {
  const rules = [...new Set([...problems, ...warnings].map(({ reason }) => reason))].sort();
  const resultOf = (level: "error" | "warning") => (problem: SourceProblem) => sarifResult(problem, level, rules);
  const driver = { name: "heliograph", semanticVersion: version, rules: rules.map((id) => ({ id })) };
  return {
    $schema: "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
    version: "2.1.0",
    runs: [
      {
        tool: { driver },
        columnKind: "utf16CodeUnits",
        results: [...problems.map(resultOf("error")), ...warnings.map(resultOf("warning"))],
      },
    ],
  };
}

function sarifResult(problem: SourceProblem, level: string, rules: readonly string[]): object {
  const { file, line, field, reason, message } = problem;
  const physicalLocation = { artifactLocation: { uri: uriOf(file) }, region: { startLine: line } };
  const logical = field === "" ? {} : { logicalLocations: [{ fullyQualifiedName: field }] };
  return {
    ruleId: reason,
    ruleIndex: rules.indexOf(reason),
    level,
    message: { text: field === "" ? message : `${field}: ${message}` },
    locations: [{ physicalLocation, ...logical }],
  };
}

/** A relative path stays relative, so that a viewer resolves it against the checkout. */
function uriOf(file: string): string {
  const path = file.replaceAll("\\", "/").replace(/^\.\//u, "").split("/").map(encodeURIComponent).join("/");
  return path.startsWith("/") ? `file://${path}` : path;
}
