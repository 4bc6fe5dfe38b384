const secondMs = 1_000;

/** Longest wait that a response can request, in milliseconds. The longest step of a schedule may bound it further. */
export const retryAfterMsMax = 86_400_000;

const monthNames = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const time = String.raw`(?<hour>\d\d):(?<minute>\d\d):(?<second>\d\d)`;
/** The three forms of HTTP-date that a recipient must accept. Source: RFC 9110 §5.6.7. */
const dateForms = [
  new RegExp(String.raw`^[A-Z][a-z]{2}, (?<day>\d\d) (?<month>[A-Z][a-z]{2}) (?<year>\d{4}) ${time} GMT$`, "u"),
  new RegExp(String.raw`^[A-Z][a-z]{5,8}, (?<day>\d\d)-(?<month>[A-Z][a-z]{2})-(?<year>\d\d) ${time} GMT$`, "u"),
  new RegExp(String.raw`^[A-Z][a-z]{2} (?<month>[A-Z][a-z]{2}) (?<day>[ \d]\d) ${time} (?<year>\d{4})$`, "u"),
];

/** Parses an HTTP-date to Unix milliseconds; undefined for any other text. Source: RFC 9110 §5.6.7. */
export function parseHttpDate(text: string, nowMs: number): number | undefined {
  const parts = dateForms.map((form) => form.exec(text)?.groups).find((groups) => groups !== undefined);
  if (parts === undefined) {
    return undefined;
  }
  const month = monthNames.indexOf(parts["month"] ?? "");
  const atMs = Date.UTC(
    fullYear(parts["year"] ?? "", nowMs),
    month,
    Number(parts["day"]),
    Number(parts["hour"]),
    Number(parts["minute"]),
    Number(parts["second"]),
  );
  return month < 0 ? undefined : atMs;
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
