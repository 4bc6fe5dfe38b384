const numbers = new Intl.NumberFormat("en", { maximumFractionDigits: 2 });
const shares = new Intl.NumberFormat("en", { style: "percent", maximumFractionDigits: 1 });

/** A number with at most two decimals and groups of three; a dash for none. */
export function formatNumber(value: number | null | undefined): string {
  return value === null || value === undefined || Number.isNaN(value) ? "–" : numbers.format(value);
}

/** A share from 0 to 1 as percent; a dash for none. */
export function formatShare(value: number | null | undefined): string {
  return value === null || value === undefined || Number.isNaN(value) ? "–" : shares.format(value);
}

const byteUnits = [
  ["GB", 1e9],
  ["MB", 1e6],
  ["KB", 1e3],
] as const;

/** Bytes as `1.2 MB`; a dash for none. */
export function formatBytes(bytes: number | null | undefined): string {
  if (bytes === null || bytes === undefined || Number.isNaN(bytes)) return "–";
  const unit = byteUnits.find(([, size]) => bytes >= size);
  return unit === undefined ? `${formatNumber(bytes)} B` : `${formatNumber(bytes / unit[1])} ${unit[0]}`;
}

/** Milliseconds as `840 ms` or `1.2 s`; longer times as {@link formatSeconds}. A dash for none. */
export function formatMs(ms: number | null | undefined): string {
  if (ms === null || ms === undefined || Number.isNaN(ms)) return "–";
  if (Math.abs(ms) < 1_000) return `${numbers.format(ms < 10 ? ms : Math.round(ms))} ms`;
  if (Math.abs(ms) < 60_000) return `${numbers.format(Math.round(ms / 100) / 10)} s`;
  return formatSeconds(ms / 1_000);
}

const units = [
  ["d", 86_400],
  ["h", 3_600],
  ["min", 60],
  ["s", 1],
] as const;

/** Seconds in their two largest units: `2 h 5 min`, `3 d`, `42 s`. */
export function formatSeconds(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  const first = units.findIndex(([, size]) => whole >= size);
  if (first < 0) return "0 s";
  let rest = whole;
  const parts = units.slice(first, first + 2).flatMap(([unit, size]) => {
    const count = Math.floor(rest / size);
    rest -= count * size;
    return count === 0 ? [] : [`${count} ${unit}`];
  });
  return parts.join(" ");
}

/** Where times are shown: UTC, or the zone of the browser. */
export type TimeZone = "utc" | "local";

/**
 * ISO 8601 as `2026-01-31 14:05:09 UTC`, or with the offset of the browser's zone: `2026-01-31 15:05:09 +01:00`. Text
 * that is not a time is returned as it is.
 */
export function formatTime(at: string, zone: TimeZone = "utc"): string {
  const ms = Date.parse(at);
  if (Number.isNaN(ms)) return at;
  const offset = zone === "utc" ? 0 : -new Date(ms).getTimezoneOffset();
  const shown = wallTime(ms, offset).replace("T", " ");
  return `${shown} ${zone === "utc" ? "UTC" : offsetText(offset)}`;
}

/** A time as the value of an `<input type="datetime-local">`, to the second; empty if it is not a time. */
export function inputTime(at: string, zone: TimeZone): string {
  const ms = Date.parse(at);
  return Number.isNaN(ms) ? "" : wallTime(ms, zone === "utc" ? 0 : -new Date(ms).getTimezoneOffset());
}

/** The value of an `<input type="datetime-local">` as ISO 8601 in UTC; null if it is empty. */
export function parseInputTime(value: string, zone: TimeZone): string | null {
  const ms = Date.parse(zone === "utc" ? `${value}Z` : value);
  return Number.isNaN(ms) ? null : new Date(ms).toISOString();
}

function wallTime(ms: number, offsetMinutes: number): string {
  return new Date(ms + offsetMinutes * 60_000).toISOString().slice(0, 19);
}

function offsetText(minutes: number): string {
  const two = (value: number): string => String(value).padStart(2, "0");
  const size = Math.abs(minutes);
  return `${minutes < 0 ? "-" : "+"}${two(Math.floor(size / 60))}:${two(size % 60)}`;
}

/** A count with its noun: `1 dead letter`, `2,000 events`. @param many the plural @default the noun and an s */
export function formatCount(count: number, noun: string, many = `${noun}s`): string {
  return `${numbers.format(count)} ${count === 1 ? noun : many}`;
}

/** How far a time is from now: `3 min ago`, `in 20 s`, `now`. */
export function formatDistance(atMs: number, nowMs: number): string {
  const seconds = Math.round((atMs - nowMs) / 1_000);
  if (Math.abs(seconds) < 1) return "now";
  return seconds < 0 ? `${largestUnit(-seconds)} ago` : `in ${largestUnit(seconds)}`;
}

/** A day and 23 hours is "47 h": "1 d" would hide nearly half of it. */
const daysFromSeconds = 172_800;

function largestUnit(seconds: number): string {
  const [, hour, ...smaller] = units;
  const named = seconds < daysFromSeconds ? [hour, ...smaller] : units;
  const [unit, size] = named.find(([, least]) => seconds >= least) ?? ["s", 1];
  return `${Math.floor(seconds / size)} ${unit}`;
}

/** A word of the API for readers: `half_open` as `half open`. */
export function formatWord(word: string): string {
  return word.replaceAll("_", " ");
}

const faults: Readonly<Record<string, string>> = {
  SecretNotFound: "is missing",
  SecretNotReadable: "cannot be read",
  SecretKeyMissing: "lacks the key that the partner names",
  KeyTooShort: "has a signing key of fewer than 32 bytes",
  KeyUnusable: "has a signing key that the scheme does not support",
  CredentialInvalid: "has a credential that cannot be sent",
  CertificateInvalid: "has no valid certificate or key",
};

/** A Secret that a partner lacks, and what is wrong with it. */
interface MissingSecret {
  readonly fault: string;
  /** `namespace/name` */
  readonly name: string;
}

/** Reads `SecretNotFound: shop/acme`; undefined for anything else that a partner lacks. */
export function missingSecret(reason: string): MissingSecret | undefined {
  const [, fault = "", name = ""] = /^(?:unresolved: )?(\w+): ([\w.-]+\/[\w.-]+)$/u.exec(reason) ?? [];
  return Object.hasOwn(faults, fault) ? { fault, name } : undefined;
}

/** Why deliveries to a partner are held, unless something is missing. */
const heldReasons: Readonly<Record<string, string>> = {
  conflicted: "another partner has its key",
  not_permitted: "a permission was withdrawn",
};

/** What a partner lacks: `unresolved: SecretNotFound: shop/acme` is `the Secret shop/acme is missing`. */
export function formatMissing(reason: string): string {
  const secret = missingSecret(reason);
  if (secret !== undefined) return `the Secret ${secret.name} ${faults[secret.fault]}`;
  const held = Object.hasOwn(heldReasons, reason) ? heldReasons[reason] : undefined;
  return held ?? formatWord(reason.replace(/^unresolved: /u, ""));
}
