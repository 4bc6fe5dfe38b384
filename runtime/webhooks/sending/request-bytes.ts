/** The parts of a request. */
export interface RequestParts {
  readonly method: "POST" | "OPTIONS";
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  /** Ignored for OPTIONS. */
  readonly body: Uint8Array;
}

/** A request as it is sent. */
export interface RequestMessage {
  readonly origin: string;
  /** Request line and headers, in latin1. */
  readonly head: string;
  readonly body: Uint8Array;
}

const noBody = new Uint8Array();

const nameForm = /^[\w!#$%&'*+.^`|~-]+$/u;
/** Source: RFC 9110 §5.5. */
const valueForm = /^[\t\x20-\x7e\x80-\xff]*$/u;
/** Headers that this side sets itself. */
const ownHeaders: ReadonlySet<string> = new Set([
  "connection",
  "content-length",
  "expect",
  "keep-alive",
  "transfer-encoding",
  "upgrade",
]);

/** @throws Error for a header that HTTP does not allow, or that this side sets */
export function requestMessage({ method, url, headers, body }: RequestParts): RequestMessage {
  let lines = "";
  let host = url.host;
  for (const name in headers) {
    const value = headers[name] ?? "";
    if (!nameForm.test(name) || !valueForm.test(value) || ownHeaders.has(name.toLowerCase())) {
      throw new Error(`the header ${JSON.stringify(name)} cannot be sent`);
    }
    if (name.toLowerCase() === "host") host = value;
    else lines += `${name}: ${value}\r\n`;
  }
  const content = method === "OPTIONS" ? noBody : body;
  const length = method === "OPTIONS" ? "" : `content-length: ${content.length}\r\n`;
  const target = `${url.pathname}${url.search}`;
  const head = `${method} ${target} HTTP/1.1\r\nhost: ${host}\r\nconnection: keep-alive\r\n${lines}${length}\r\n`;
  return { origin: url.origin, head, body: content };
}
