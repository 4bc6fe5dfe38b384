const secondMs = 1_000;

/** Longest wait that a response can request, in milliseconds. The longest step of a schedule may bound it further. */
export const retryAfterMsMax = 86_400_000;

const monthNames = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const dayForm = "(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)";
const longDayForm = "(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day";
const time = String.raw`(?<hour>\d\d):(?<minute>\d\d):(?<second>\d\d)`;
/** The three forms of HTTP-date that a recipient must accept. Source: RFC 9110 §5.6.7. */
const dateForms = [
  new RegExp(String.raw`^${dayForm}, (?<day>\d\d) (?<month>[A-Z][a-z]{2}) (?<year>\d{4}) ${time} GMT$`, "u"),
  new RegExp(String.raw`^${longDayForm}, (?<day>\d\d)-(?<month>[A-Z][a-z]{2})-(?<year>\d\d) ${time} GMT$`, "u"),
  new RegExp(String.raw`^${dayForm} (?<month>[A-Z][a-z]{2}) (?<day>[ \d]\d) ${time} (?<year>\d{4})$`, "u"),
];

/**
 * Parses an HTTP-date to Unix milliseconds; undefined for any other text and for a date that no calendar has. The date
 * counts when its name of the day is another day's. Source: RFC 9110 §5.6.7.
 */
export function parseHttpDate(text: string, nowMs: number): number | undefined {
  const parts = dateForms.map((form) => form.exec(text)?.groups).find((groups) => groups !== undefined);
  if (parts === undefined) {
    return undefined;
  }
  const month = monthNames.indexOf(parts["month"] ?? "") + 1;
  const year = String(fullYear(parts["year"] ?? "", nowMs)).padStart(4, "0");
  const day = (parts["day"] ?? "").replace(" ", "0");
  // A leap second counts as the second before it, which the clock here has.
  const second = parts["second"] === "60" ? "59" : parts["second"];
  const written = `${year}-${String(month).padStart(2, "0")}-${day}T${parts["hour"]}:${parts["minute"]}:${second}.000Z`;
  const atMs = Date.parse(written);
  // Date.parse reads 30 February as 2 March and 24:00 as the next day; the comparison detects both.
  return Number.isNaN(atMs) || new Date(atMs).toISOString() !== written ? undefined : atMs;
}

/** A year of two digits that would lie more than 50 years ahead is in the past. Source: RFC 9110 §5.6.7. */
function fullYear(digits: string, nowMs: number): number {
  if (digits.length === 4) {
    return Number(digits);
  }
  const thisYear = new Date(nowMs).getUTCFullYear();
  const year = thisYear - (thisYear % 100) + Number(digits);
  return year > thisYear + 50 ? year - 100 : year;
}

/**
 * Milliseconds of the `Retry-After` of a response, from 0 to {@link retryAfterMsMax}; undefined without a valid one. A
 * date is compared with the response's own `Date`, because the partner's clock wrote both. Source: RFC 9110 §10.2.3,
 * seed "Webhook Event Delivery" §7.
 */
export function retryAfterMs(headers: Readonly<Record<string, string>>, nowMs: number): number | undefined {
  const value = headers["retry-after"]?.trim();
  if (value === undefined) {
    return undefined;
  }
  const waitMs = /^\d+$/u.test(value) ? Number(value) * secondMs : untilDate(value, headers["date"], nowMs);
  return waitMs === undefined ? undefined : Math.min(Math.max(waitMs, 0), retryAfterMsMax);
}

function untilDate(text: string, date: string | undefined, nowMs: number): number | undefined {
  const atMs = parseHttpDate(text, nowMs);
  const sentAtMs = date === undefined ? undefined : parseHttpDate(date.trim(), nowMs);
  return atMs === undefined ? undefined : atMs - (sentAtMs ?? nowMs);
}
