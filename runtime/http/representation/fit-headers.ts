/**
 * Most bytes of the names and values of a route's headers. Proxies buffer the head of a response, and the smallest
 * default of a common one is 4 KB. The rest is for the status line and the headers of the server.
 * Source: nginx, `proxy_buffer_size`.
 */
export const headerBytesMax = 3_328;

/** Separates the links of one `Link`. A target holds neither `<` nor `>`. */
const betweenLinks = /, (?=<)/u;
/** `: ` and the line end. */
const bytesOfLine = 4;

/**
 * The headers of a response within {@link headerBytesMax}. `Link` keeps the links that fit, in their order: bodies hold
 * the same as `meta.has_more`, `meta.snapshot` and `meta.deprecated`.
 */
export function fitHeaders(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
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
