const secondMs = 1_000;

/** Longest wait that is read out of an answer, in milliseconds; the longest step of a schedule may bound it further. */
export const retryAfterMsMax = 86_400_000;

const monthNames = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const time = String.raw`(?<hour>\d\d):(?<minute>\d\d):(?<second>\d\d)`;
/** The three forms that a recipient must accept. Source: RFC 9110 §5.6.7. */
const dateForms = [
  new RegExp(String.raw`^[A-Z][a-z]{2}, (?<day>\d\d) (?<month>[A-Z][a-z]{2}) (?<year>\d{4}) ${time} GMT$`, "u"),
  new RegExp(String.raw`^[A-Z][a-z]{5,8}, (?<day>\d\d)-(?<month>[A-Z][a-z]{2})-(?<year>\d\d) ${time} GMT$`, "u"),
  new RegExp(String.raw`^[A-Z][a-z]{2} (?<month>[A-Z][a-z]{2}) (?<day>[ \d]\d) ${time} (?<year>\d{4})$`, "u"),
];

/** Unix milliseconds of an HTTP-date; undefined when the text is none. Source: RFC 9110 §5.6.7. */
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

/** A year of two digits is in the past when it would lie more than 50 years ahead. Source: RFC 9110 §5.6.7. */
function fullYear(digits: string, nowMs: number): number {
  if (digits.length === 4) {
    return Number(digits);
  }
  const thisYear = new Date(nowMs).getUTCFullYear();
  const year = thisYear - (thisYear % 100) + Number(digits);
  return year > thisYear + 50 ? year - 100 : year;
}

/**
 * Milliseconds that an answer asks to wait: from 0 to {@link retryAfterMsMax}, or undefined when it asks nothing that
 * can be read. A date is judged against the answer's own `Date`, since the partner's clock wrote both. Source: RFC 9110
 * §10.2.3, seed "Webhook Event Delivery" §7.
 */
export function retryAfterMs(headers: Readonly<Record<string, string>>, nowMs: number): number | undefined {
  const asked = headers["retry-after"]?.trim();
  if (asked === undefined) {
    return undefined;
  }
  const waitMs = /^\d+$/u.test(asked) ? Number(asked) * secondMs : untilDate(asked, headers["date"], nowMs);
  return waitMs === undefined ? undefined : Math.min(Math.max(waitMs, 0), retryAfterMsMax);
}

function untilDate(asked: string, date: string | undefined, nowMs: number): number | undefined {
  const askedAtMs = parseHttpDate(asked, nowMs);
  const answeredAtMs = date === undefined ? undefined : parseHttpDate(date.trim(), nowMs);
  return askedAtMs === undefined ? undefined : askedAtMs - (answeredAtMs ?? nowMs);
}
