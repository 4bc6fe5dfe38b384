import { rule, type Rule } from "./cel-rule.ts";

/** Lowercase names of headers that belong to the connection or the framing of a message. Source: RFC 9110 and 9112. */
const messageHeaders: ReadonlySet<string> = new Set([
  "host",
  "content-length",
  "content-encoding",
  "transfer-encoding",
  "connection",
  "keep-alive",
  "upgrade",
  "expect",
  "te",
  "trailer",
  "proxy-connection",
  "proxy-authorization",
  "accept-encoding",
]);

/** For a list of headers that go out together. */
export const differentNames: Rule<readonly { readonly name: string }[]> = rule(
  "header names must be unique, ignoring case",
  (headers) => new Set(headers.map(({ name }) => name.toLowerCase())).size === headers.length,
);

/** For the name of a header that a resource adds to requests. */
export const noMessageHeader: Rule<string> = rule(
  "this header is reserved: the HTTP client sets it",
  (name) => !messageHeaders.has(name.toLowerCase()),
);
