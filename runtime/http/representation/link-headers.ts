import type { Parameters } from "../../metrics/request/parameters.ts";

/**
 * Most bytes of the names and values of a route's headers. Proxies buffer the head of a response, and the smallest
 * default of a common one is 4 KB. The rest is for the status line and the headers of the server.
 * Source: nginx, `proxy_buffer_size`.
 */
const headerBytesMax = 3_328;

/** Separates the links of one `Link`. A target holds neither `<` nor `>`. */
const betweenLinks = /, (?=<)/u;
/** `: ` and the line end. */
const bytesOfLine = 4;

/**
 * The headers of a response within {@link headerBytesMax}. `Link` keeps the links that fit, in their order: bodies hold
 * the same as `meta.has_more`, `meta.snapshot` and `meta.deprecated`.
 */
export function fitLinkHeaders(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const { Link: link, ...others } = headers;
  if (link === undefined || bytesOf(headers) <= headerBytesMax) return headers;
  const fitting = link.split(betweenLinks).reduce((kept: readonly string[], one) => {
    const more = [...kept, one];
    return bytesOf({ ...others, Link: more.join(", ") }) <= headerBytesMax ? more : kept;
  }, []);
  return fitting.length === 0 ? others : { ...others, Link: fitting.join(", ") };
}

function bytesOf(headers: Readonly<Record<string, string>>): number {
  return Object.entries(headers).reduce(
    (sum, [name, value]) => sum + name.length + Buffer.byteLength(value) + bytesOfLine,
    0,
  );
}

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
