import { fileURLToPath } from "node:url";
import { run } from "./run.ts";

/** Known vulnerabilities in the packages of the product. */
type AuditResult =
  | { readonly kind: "clean" | "vulnerable"; readonly lines: readonly string[] }
  /** There is no registry with an audit, or it sent no report. */
  | { readonly kind: "skipped"; readonly reason: string };

const auditMsMax = 30_000;
/** Severities that fail the audit; others are reported only. */
const failing: readonly string[] = ["high", "critical"];

interface AuditReport {
  readonly vulnerabilities?: Readonly<Record<string, { readonly severity: string; readonly range: string }>>;
  readonly message?: string;
  readonly error?: { readonly summary?: string; readonly code?: string };
}

/** Reads what `npm audit --json` printed; anything but a report means that no registry answered. */
export function auditResult(stdout: string): AuditResult {
  const report = parsed(stdout);
  const { vulnerabilities } = report;
  if (vulnerabilities === undefined) {
    return {
      kind: "skipped",
      reason: report.message ?? report.error?.summary ?? report.error?.code ?? "the registry gave no report",
    };
  }
  const found = Object.entries(vulnerabilities);
  const lines = found.map(([name, { severity, range }]) => `${severity}: ${name} ${range}`);
  return { kind: found.some(([, { severity }]) => failing.includes(severity)) ? "vulnerable" : "clean", lines };
}

function parsed(text: string): AuditReport {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? value : {};
  } catch {
    return {};
  }
}

async function main(): Promise<number> {
  const root = fileURLToPath(new URL("../..", import.meta.url));
  const { stdout } = await run("npm", ["audit", "--omit=dev", "--json", "--fetch-retries=0"], {
    cwd: root,
    timeoutMs: auditMsMax,
  });
  const result = auditResult(stdout);
  if (result.kind === "skipped") {
    console.log(
      `SKIPPED: the audit of dependencies, since the package registry does not offer one here (${result.reason}).`,
    );
    return 0;
  }
  console.log(
    [`${result.lines.length} known vulnerabilities in the packages of the product`, ...result.lines].join("\n"),
  );
  return result.kind === "vulnerable" ? 1 : 0;
}

if (import.meta.main) process.exitCode = await main();
