// The bundle for the report of a problem: its sources, masking and archive. The command is in `cli/`.

import { hasCardNumber } from "../webhooks/events/card-numbers.ts";

/** Names whose values are secret, with quotes that are escaped in JSON inside a text. */
const secretName =
  String.raw`(?:passw(?:or)?d|secret|token|api[_-]?key|signature|authorization|cookie)` +
  String.raw`[\\"']{0,8}\s{0,8}[=:]\s{0,8}[\\"']{0,8}`;
const namedSecret = new RegExp(String.raw`(?<=${secretName})[^\s\\"',;}]+`, "giu");

/** Addresses of version 6 with `::`, unless they are of this machine. */
const hextets = "[0-9a-f:]{0,39}";
const compressedAddress = new RegExp(
  String.raw`(?<![\w:])(?!::(?:1(?![\w:.]))?(?![\w:.]))${hextets}::(?:${hextets}(?:\d{1,3}\.){3}\d{1,3}|${hextets})`,
  "giu",
);

/** Patterns of secrets and personal data, and what replaces them. The order matters: whole forms come before parts. */
const rules: readonly (readonly [RegExp, string])[] = [
  [/-----BEGIN [^-]+-----[^]*?(?:-----END [^-]+-----|$)/gu, "[pem]"],
  [/\beyJ[\w-]+(?:\.[\w-]*)*/gu, "[token]"],
  [/\b(?:bearer|basic|dpop) +[^\s",]+/giu, "[credentials]"],
  // A password may contain @ and /, so credentials end at the last @.
  [/(?<=:\/\/)(?:(?!:\/\/)[^\s"'<>]){1,512}@/gu, "[credentials]@"],
  [/(?<=\w:\/\/[^\s?"]{1,2048})\?[^\s"]*/gu, "?[query]"],
  // The path of an endpoint may be its secret. Those of this machine are ours.
  [/(?<=\w:\/\/(?!127\.|localhost\b|\[::1\])[^\s/?"'<>]{1,512}\/)[^\s?"'<>[\]]+/gu, "[path]"],
  [namedSecret, "[secret]"],
  [/[^\s@"<>()]{1,64}@[^\s@"<>()]{1,255}\.[a-z]{2,}/giu, "[mail]"],
  [/\b(?!127\.)(?:\d{1,3}\.){3}\d{1,3}\b/gu, "[address]"],
  [/\b(?:[0-9a-f]{1,4}:){3,7}[0-9a-f]{1,4}\b/giu, "[address]"],
  [compressedAddress, "[address]"],
];
/** Keys and tokens are long and look random. UUIDs and words joined by `-`, `_`, `.` or `/` are not secret. */
const longText = /[\w+/=-]{20,}/gu;
const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/iu;
const words = /^[-_/]*(?:[a-z]{1,20}\d{0,3}|\d{1,6})(?:[-_/]+(?:[a-z]{1,20}\d{0,3}|\d{1,6}))+$/iu;
const digits = /\d(?:[ -]?\d){12,18}/gu;

/** Fields of log lines that a report may hold. The values of all others are left out. */
const keptFields: ReadonlySet<string> = new Set(
  (
    "level time pid msg server correlationId method route status durationMs code outcome partner type " +
    "tenant eventId attempt generation nextAttemptAt detail reason problem err kind namespace name " +
    "message field fault shard revision sha256 configHash errors problems kept partners catalogs quotas " +
    "store region metric stream consumer topic part seq signal drainMs heapBytesMax cacheBytesMax issuers " +
    "events bytes count percent eventCatalogs"
  ).split(" "),
);

/** The text without secrets, card numbers and addresses of people and machines. */
export function maskText(text: string): string {
  const masked = rules.reduce((rest, [pattern, replacement]) => rest.replaceAll(pattern, replacement), text);
  return masked
    .replaceAll(longText, (found) => (uuid.test(found) || words.test(found) ? found : "[long]"))
    .replaceAll(digits, (found) => (hasCardNumber(found.replaceAll(/[ -]/gu, "")) ? "[card]" : found));
}

/** Fields whose texts are hashes and versions of configurations. */
const hashFields: ReadonlySet<string> = new Set([
  "configHash",
  "config_hash",
  "content_hash",
  "hash",
  "sha256",
  "version",
]);
const hashText = /^[0-9a-f]{12,64}$/u;
/** Fields that are left out wherever they occur: people, machines, and what callers send. */
const privateFields =
  /^(?:client|address|ip|headers?|body|data|payload|cookie|authorization|token|secret|password|key)$/iu;
const depthMax = 8;

/** The value with every text masked and every private field left out. */
export function maskValue(value: unknown, field = "", depth = 0): unknown {
  if (typeof value === "string") return isHash(field, value) ? value : maskText(value);
  if (typeof value === "number") return hasCardNumber(String(value)) ? "[card]" : value;
  return typeof value !== "object" || value === null ? value : maskMembers(value, field, depth + 1);
}

function maskMembers(value: object, field: string, depth: number): unknown {
  if (depth > depthMax) return "[deep]";
  return Array.isArray(value) ? value.map((item) => maskValue(item, field, depth)) : maskFields(value, depth);
}

function isHash(field: string, text: string): boolean {
  return hashFields.has(field) && hashText.test(text);
}

function maskFields(value: object, depth: number): object {
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [
      maskText(name),
      privateFields.test(name) ? "[left out]" : maskValue(inner, name, depth),
    ]),
  );
}

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
