import type { Parameters } from "../../metrics/request/parameters.ts";

/** The part of a body that describes its page. */
interface PagedBody {
  readonly meta?: {
    readonly page: number;
    readonly has_more: boolean;
    readonly snapshot: string;
    readonly from?: string;
    readonly to?: string;
    readonly step?: string;
    readonly ts?: string;
  };
}

/**
 * The `Link` to the next page, cut from the same snapshot; undefined on the last page. It repeats the times of the
 * response, since times of the request may be relative. Source: RFC 8288.
 */
export function nextPageLink(query: Parameters, body: object): string | undefined {
  const { meta } = body as PagedBody;
  if (meta?.has_more !== true) return undefined;
  const { page, snapshot, from, to, ts, step } = meta;
  const times = from === undefined ? { ts } : { from, to, step };
  const changes = Object.entries({ ...times, page: String(page + 1), snapshot });
  const kept = [...query].filter(([name]) => name !== "last");
  const next = new Map([...kept, ...changes.map(([name, value = ""]) => [name, [value]] as const)]);
  const pairs = [...next].flatMap(([name, values]) => values.map((value): [string, string] => [name, value]));
  return `<?${new URLSearchParams(pairs).toString()}>; rel="next"`;
}
