import { pathTo } from "../router/place.ts";

/** Something that a search finds. */
export interface SearchItem {
  readonly kind: "Event" | "Event type" | "Partner" | "Metric" | "Objective" | "Replay" | "Page";
  /** What is searched and shown: an id or a name. */
  readonly name: string;
  /** One more fact, such as the state of a partner. */
  readonly detail?: string;
  /** Path below the console. */
  readonly to: string;
}

const resultsMax = 12;
const idPattern = /^[\x21-\x7e]{1,128}$/u;

/** True if the text can be the id of an event or a replay, which only the server knows. */
export function canBeId(text: string): boolean {
  return idPattern.test(text) && text.length >= 3;
}

/**
 * The items whose name contains every word of the text, without regard to case. Equal names come first, then names that
 * start with the text, then names with a part that starts with it.
 */
export function searchItems(items: readonly SearchItem[], text: string): readonly SearchItem[] {
  const words = text.toLowerCase().split(/\s+/u).filter(Boolean);
  if (words.length === 0) return [];
  const found = items.flatMap((item) => {
    const rank = rankOf(item.name.toLowerCase(), words);
    return rank === undefined ? [] : [{ item, rank }];
  });
  const sorted = found.toSorted((a, b) => a.rank - b.rank || a.item.name.localeCompare(b.item.name));
  return sorted.slice(0, resultsMax).map(({ item }) => item);
}

function rankOf(name: string, words: readonly string[]): number | undefined {
  if (!words.every((word) => name.includes(word))) return undefined;
  const [first = ""] = words;
  if (name === words.join(" ")) return 0;
  if (name.startsWith(first)) return 1;
  return name.split(/[/._\s-]/u).some((part) => part.startsWith(first)) ? 2 : 3;
}

const recentMax = 8;

/** The recently opened items with one more, the newest first and each once. */
export function withRecent(recent: readonly SearchItem[], item: SearchItem): readonly SearchItem[] {
  return [item, ...recent.filter(({ to }) => to !== item.to)].slice(0, recentMax);
}

const detailPages: readonly (readonly [RegExp, SearchItem["kind"]])[] = [
  [/^\/events\/([^/]+)$/u, "Event"],
  [/^\/types\/([^/]+)$/u, "Event type"],
  [/^\/partners\/([^/]+)\/([^/]+)$/u, "Partner"],
  [/^\/replays\/([^/]+)$/u, "Replay"],
  [/^\/slos\/([^/]+)$/u, "Objective"],
];

/** The item that a page shows; undefined for lists and other pages. */
export function itemOfPage(path: string, query: URLSearchParams): SearchItem | undefined {
  const metric = query.get("metric");
  if (path === "/explorer" && metric !== null && metric !== "") return metricItem(metric);
  for (const [pattern, kind] of detailPages) {
    const match = pattern.exec(path);
    if (match === null) continue;
    try {
      return { kind, name: match.slice(1).map(decodeURIComponent).join("/"), to: path };
    } catch {
      return undefined;
    }
  }
  return undefined;
}

/** The explorer with a metric. */
export function metricItem(metric: string, detail?: string): SearchItem {
  const to = `/explorer?${new URLSearchParams({ metric }).toString()}`;
  return { kind: "Metric", name: metric, to, ...(detail === undefined ? {} : { detail }) };
}

/** The page of an event. */
export function eventItem(id: string): SearchItem {
  return { kind: "Event", name: id, to: pathTo("events", id) };
}

/** The page of an event type. */
export function eventTypeItem(type: string): SearchItem {
  return { kind: "Event type", name: type, to: pathTo("types", type) };
}

/** The page of a replay. */
export function replayItem(id: string, detail?: string): SearchItem {
  return { kind: "Replay", name: id, to: pathTo("replays", id), ...(detail === undefined ? {} : { detail }) };
}
