import { maskText, maskValue } from "./mask-text.ts";

/** Fields of log lines that a report may hold. The values of all others are left out. */
const keptFields: ReadonlySet<string> = new Set(
  (
    "level time pid msg server correlationId method route status durationMs code outcome partner type " +
    "tenant eventId attempt generation nextAttemptAt detail reason problem err kind namespace name " +
    "message field fault shard revision sha256 configHash errors problems kept partners catalogs quotas " +
    "store region metric stream consumer topic part seq signal drainMs heapBytesMax cacheBytesMax issuers " +
    "events bytes count percent"
  ).split(" "),
);

/** Masks log lines of the product. A line of another form is left out, since nothing is known about it. */
export function maskLogLines(text: string): string {
  const lines = text.split("\n").filter((line) => line !== "");
  return `${lines.map(maskLine).join("\n")}\n`;
}

function maskLine(line: string): string {
  try {
    // `kubectl logs --prefix` writes the pod before each line.
    const fields = JSON.parse(line.slice(Math.max(0, line.indexOf("{")))) as Readonly<Record<string, unknown>>;
    const kept = Object.entries(fields).filter(([name]) => keptFields.has(name));
    const hidden = Object.keys(fields).length - kept.length;
    const own = maskValue(Object.fromEntries(kept)) as object;
    return JSON.stringify(hidden === 0 ? own : { ...own, hidden });
  } catch {
    return JSON.stringify({ hidden: "a line that is not JSON" });
  }
}

const sample = /^(?<name>[a-zA-Z_:][\w:]*)(?<labels>\{(?:[^"}]|"(?:[^"\\]|\\.)*")*\})? (?<value>[^ ]+)/u;
const label = /(?<name>[a-zA-Z_]\w*)="(?<value>(?:[^"\\]|\\.)*)"/gu;

/** Masks the values of labels. Names and numbers are those of the product. */
export function maskMetrics(text: string): string {
  const lines = text.split("\n").map((line) => {
    if (line.startsWith("#")) return line;
    const { name = "", labels = "", value = "" } = sample.exec(line)?.groups ?? {};
    const masked = labels.replaceAll(label, (_, key: string, own: string) => `${key}="${maskText(own)}"`);
    return name === "" ? "" : `${name}${masked} ${value}`;
  });
  return lines.join("\n");
}
