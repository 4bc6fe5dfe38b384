const day = String.raw`(?<date>\d{4}-\d{2}-\d{2})`;
const timeOfDay = String.raw`(?<time>\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?)`;
const zoneOfTime = String.raw`(?<zone>Z|UTC|[+\- ]?\d{2}:?\d{2})`;
const absolute = new RegExp(`^${day}(?:[T ]${timeOfDay} ?${zoneOfTime}?)?$`, "iu");
const inUtc = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?Z$/u;
const unixSeconds = /^\d{9,11}(?:\.\d+)?$/u;
const unixMilliseconds = /^\d{12,14}$/u;
const relative = /^now(?:(?<sign>[+\- ])(?<distance>(?:\d{1,6}[wdhms])+))?(?:\/(?<unit>[smhd]))?$/u;
const unitsMs: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

/**
 * A time of an address in Unix milliseconds: ISO 8601 or as the console shows it, in UTC or with an offset, Unix
 * seconds or milliseconds, or relative to now, such as `now-1h30m` and `now/d`. The `+` of an offset may be a space,
 * which an address makes of it. Undefined for any other text. @param isEnd a rounded time is the end of its unit
 */
export function readLinkTime(text: string, nowMs: number, isEnd = false): number | undefined {
  const shown = text.trim();
  if (unixSeconds.test(shown)) return Number(shown) * 1_000;
  if (unixMilliseconds.test(shown)) return Number(shown);
  const { date, time = "00:00", zone = "" } = absolute.exec(shown)?.groups ?? {};
  if (date === undefined) return relativeTime(shown, nowMs, isEnd);
  const ms = Date.parse(`${date}T${time}${offsetOf(zone)}`);
  return Number.isNaN(ms) ? undefined : ms;
}

/** Times without a zone are in UTC. */
function offsetOf(zone: string): string {
  const [, sign = "+", hours, minutes] = /^([+\- ])?(\d{2}):?(\d{2})$/u.exec(zone) ?? [];
  return hours === undefined ? "Z" : `${sign === "-" ? "-" : "+"}${hours}:${minutes ?? "00"}`;
}

function relativeTime(text: string, nowMs: number, isEnd: boolean): number | undefined {
  const found = relative.exec(text);
  if (found === null) return undefined;
  const { sign, distance = "", unit } = found.groups ?? {};
  const parts = [...distance.matchAll(/(\d+)([wdhms])/gu)];
  const ms = parts.reduce((sum, [, count, name = ""]) => sum + Number(count) * (unitsMs[name] ?? 0), 0);
  const atMs = nowMs + (sign === "-" ? -ms : ms);
  const unitMs = unit === undefined ? undefined : unitsMs[unit];
  if (unitMs === undefined) return atMs;
  return Math.floor(atMs / unitMs) * unitMs + (isEnd ? unitMs : 0);
}

/** A time of an address as ISO 8601 in UTC. A text that is no time stays as it is, so that the server names it. */
export function linkTime(text: string, nowMs: number, isEnd = false): string {
  const ms = inUtc.test(text) ? undefined : readLinkTime(text, nowMs, isEnd);
  return ms === undefined ? text : new Date(ms).toISOString();
}
