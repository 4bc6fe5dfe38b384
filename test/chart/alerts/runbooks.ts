import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** A page that says what to do about an alert. */
interface Runbook {
  readonly name: string;
  readonly text: string;
  readonly alerts: readonly string[];
  /** Lines of its shell blocks. */
  readonly commands: readonly string[];
  /** Lines of its PromQL blocks. */
  readonly queries: readonly string[];
}

const folder = fileURLToPath(new URL("../../../docs/runbooks", import.meta.url));

/** Every page of docs/runbooks/ that has not moved. */
export function runbooks(): readonly Runbook[] {
  const pages = readdirSync(folder).map((name) => ({ name, text: readFileSync(join(folder, name), "utf8") }));
  const current = pages.filter(({ text }) => !text.includes("it moved to ["));
  return current.map(({ name, text }) => {
    const [, alerts = ""] = /^Alerts: (.*)$/mu.exec(text) ?? [];
    return {
      name,
      text,
      alerts: [...alerts.matchAll(/`(\w+)`/gu)].map(([, alert = ""]) => alert),
      commands: linesOf(text, "sh"),
      queries: linesOf(text, "promql"),
    };
  });
}

function linesOf(text: string, language: string): readonly string[] {
  const blocks = [...text.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, "gmu"))];
  return blocks.flatMap(([, block = ""]) => block.trim().split("\n"));
}
