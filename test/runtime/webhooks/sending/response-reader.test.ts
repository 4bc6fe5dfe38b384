import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ResponseHead } from "../../../../runtime/webhooks/sending/response-head.ts";
import { ResponseFault, ResponseReader } from "../../../../runtime/webhooks/sending/response-reader.ts";

/** What a reader has found. `closes`: the connection must be closed. */
interface Found {
  readonly status?: number;
  readonly headers?: ResponseHead["headers"];
  readonly body: string;
  readonly warnings: readonly string[];
  readonly isWhole: boolean;
  readonly closes: boolean;
  readonly fault?: string;
}

/** Reads chunks, and the end of the connection behind them. */
function readAll(chunks: readonly Buffer[]): Found {
  const heads: ResponseHead[] = [];
  const body: Buffer[] = [];
  const warnings: string[] = [];
  const reader = new ResponseReader({
    onHead: (head) => heads.push(head),
    onData: (chunk) => body.push(Buffer.from(chunk)),
    onWarning: (text) => warnings.push(text),
  });
  let fault: string | undefined;
  try {
    for (const chunk of chunks) if (!reader.isEnded) reader.read(chunk);
    reader.close();
    reader.cutHead();
  } catch (error) {
    if (!(error instanceof ResponseFault)) throw error;
    fault = error.message;
  }
  expect(heads.length).toBeLessThan(2);
  return {
    ...heads[0],
    body: Buffer.concat(body).toString("latin1"),
    warnings,
    isWhole: reader.isWhole,
    closes: reader.keepAliveMs === undefined,
    ...(fault === undefined ? {} : { fault }),
  };
}

/** Reads a text in one piece and in single bytes, which must not differ. */
function read(text: string): Found {
  const bytes = Buffer.from(text, "latin1");
  const found = readAll([bytes]);
  const single = readAll(Array.from(bytes, (byte) => Buffer.of(byte)));
  // Bytes behind the response that arrive later are noticed by the connection.
  const excess = found.warnings.length - single.warnings.length;
  expect({ ...single, closes: found.closes, warnings: found.warnings }).toEqual(found);
  expect(excess === 0 || excess === 1).toBe(true);
  return found;
}

const ok = "HTTP/1.1 200 OK\r\n";

describe("a response", () => {
  test.each([
    ["with a length", `${ok}Content-Length: 5\r\n\r\nhello`, "hello", false],
    ["without a body", `${ok}Content-Length: 0\r\n\r\n`, "", false],
    ["in chunks", `${ok}Transfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\n\r\n`, "hello", false],
    [
      "in chunks with a trailer",
      `${ok}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nA: b\r\n\r\n`,
      "hello",
      false,
    ],
    ["without a length", `${ok}\r\nhello`, "hello", true],
    ["of HTTP/1.0 without a length", "HTTP/1.0 200 OK\r\n\r\nhello", "hello", true],
    ["of HTTP/1.0 with a length", "HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello", "hello", true],
    ["that is the last one", `${ok}Connection: x, Close\r\nContent-Length: 5\r\n\r\nhello`, "hello", true],
    ["with equal lengths", `${ok}Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello`, "hello", false],
    ["with bare line feeds", "HTTP/1.1 200 OK\nContent-Length: 5\n\nhello", "hello", false],
    ["without a reason", "HTTP/1.1 200\r\nContent-Length: 5\r\n\r\nhello", "hello", false],
    ["with an empty reason", "HTTP/1.1 200 \r\nContent-Length: 5\r\n\r\nhello", "hello", false],
    ["with a reason of any bytes", "HTTP/1.1 200 \xe9\x80\r\nContent-Length: 5\r\n\r\nhello", "hello", false],
    ["with obs-text in a value", `${ok}X: caf\xe9\r\nContent-Length: 5\r\n\r\nhello`, "hello", false],
    ["behind empty lines", `\r\n\n${ok}Content-Length: 5\r\n\r\nhello`, "hello", false],
    ["behind 100", `HTTP/1.1 100 Continue\r\n\r\n${ok}Content-Length: 5\r\n\r\nhello`, "hello", false],
    [
      "behind several interim ones with headers",
      `HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\nLink: </b>\r\n\r\nHTTP/1.1 103\r\n\r\n${ok}Content-Length: 5\r\n\r\nhello`,
      "hello",
      false,
    ],
    [
      "behind an interim one with bare line feeds",
      `HTTP/1.1 100 C\n\n${ok}Content-Length: 5\r\n\r\nhello`,
      "hello",
      false,
    ],
  ])("%s is read without a warning", (_, text, body, closes) => {
    expect(read(text)).toMatchObject({ status: 200, body, closes, warnings: [], isWhole: true });
  });

  test.each([204, 304])("of status %i has no body", (status) => {
    const found = read(`HTTP/1.1 ${status} X\r\nContent-Length: 5\r\n\r\n`);
    expect(found).toMatchObject({ status, body: "", isWhole: true, closes: false });
  });

  test("joins repeated headers and keeps names of any object", () => {
    const { headers = {} } = read(`${ok}A: 1\r\na:2\r\n__proto__: x\r\nConstructor: y\r\nContent-Length: 0\r\n\r\n`);
    expect(Object.entries(headers)).toEqual([
      ["a", "1, 2"],
      ["__proto__", "x"],
      ["constructor", "y"],
      ["content-length", "0"],
    ]);
  });

  test("is the same however its bytes are split", () => {
    const texts = [
      `HTTP/1.1 100 C\r\nA: b\r\n\r\n${ok}X: a\r\n b\r\nContent-Length: 5\r\n\r\nhello`,
      `${ok}Transfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\nT: x\r\n\r\n`,
    ];
    fc.assert(
      fc.property(fc.constantFrom(...texts), fc.array(fc.nat(120)), (text, cuts) => {
        const bytes = Buffer.from(text, "latin1");
        const ends = [...new Set([...cuts.filter((cut) => cut < bytes.length), bytes.length])].sort((a, b) => a - b);
        const chunks = ends.map((end, index) => bytes.subarray(ends[index - 1] ?? 0, end));
        expect(readAll(chunks)).toEqual(readAll([bytes]));
      }),
    );
  });
});

describe("a fault behind the status never hides it:", () => {
  test.each([
    ["a folded line", "X-Note: a\r\n b\r\n\tc\r\nContent-Length: 5", "x-note: folded over several lines"],
    ["a fold at the start", " X: y\r\nContent-Length: 5", "header: whitespace before the first header"],
    ["a space before the colon", "X-Note : a\r\nContent-Length: 5", "x-note: whitespace before the colon"],
    ["a name with spaces", "X Note: a\r\nContent-Length: 5", "x note: not a valid header name"],
    ["a name of other bytes", "X\xe9: a\r\nContent-Length: 5", "x: not a valid header name"],
    ["no name", ": a\r\nContent-Length: 5", "header: not a valid header name"],
    ["no colon", "X-Note\r\nContent-Length: 5", "x-note: no colon in the line"],
    ["NUL in a value", "X-Note: a\0b\r\nContent-Length: 5", "x-note: control characters"],
    ["NUL in a name", "X\0Note: ab\r\nContent-Length: 5", "x note: control characters"],
    ["a bare carriage return", "X-Note: a\rb\r\nContent-Length: 5", "x-note: control characters"],
    ["both framings", "Transfer-Encoding: identity\r\nContent-Length: 5", "content-length: not allowed with"],
    ["too short a length", "Content-Length: 3", "content-length: less than the body has", "hel"],
    ["too long a length", "Content-Length: 9", undefined, "hello", false],
    ["different lengths", "Content-Length: 5\r\nContent-Length: 6", "content-length: different values", "", false],
    ["a list of lengths", "Content-Length: 5, 6", "content-length: different values", "", false],
    ["a negative length", "Content-Length: -5", "content-length: not a number", "", false],
    ["a length with a unit", "Content-Length: 5 bytes", "content-length: not a number", "", false],
    ["no length", "Content-Length:", "content-length: not a number", "", false],
    ["no chunk", "Transfer-Encoding: chunked", undefined, "", false],
    ["a coding of HTTP/1.0", "Transfer-Encoding: gzip", undefined, "hello", true],
  ])("%s", (_, headers, warning, body = "hello", isWhole = true) => {
    const found = read(`HTTP/1.1 410 Gone\r\n${headers}\r\n\r\nhello`);
    expect(found).toMatchObject({ status: 410, body, isWhole, closes: true });
    expect(found.warnings.map((text) => text.slice(0, warning?.length))).toEqual(
      warning === undefined ? [] : [warning],
    );
  });

  test.each([
    ["a wrong chunk size", "5\r\nhello\r\nzz\r\n", "hello", "not the size of a chunk"],
    ["a negative chunk size", "-5\r\nhello\r\n0\r\n\r\n", "", "not the size of a chunk"],
    ["a huge chunk size", "ffffffffffffffff\r\nhello", "", "not the size of a chunk"],
    ["an endless chunk line", `5;${"x".repeat(5_000)}\r\nhello\r\n0\r\n\r\n`, "", "not the size of a chunk"],
    ["a chunk beyond its size", "3\r\nhello\r\n0\r\n\r\n", "hel", "a chunk is longer than its size"],
  ])("%s", (_, chunks, body, warning) => {
    const found = readAll([Buffer.from(`${ok}Transfer-Encoding: chunked\r\n\r\n${chunks}`)]);
    expect(found).toMatchObject({ status: 200, body, isWhole: false, closes: true });
    expect(found.warnings).toEqual([expect.stringContaining(`transfer-encoding: ${warning}`)]);
  });

  test.each([
    ["a cut chunk", "5\r\nhel"],
    ["no last chunk", "3\r\nhel\r\n"],
    ["no end of the trailer", "3\r\nhel\r\n0\r\n"],
  ])("%s", (_, chunks) => {
    const found = read(`${ok}Transfer-Encoding: chunked\r\n\r\n${chunks}`);
    expect(found).toMatchObject({ status: 200, body: "hel", isWhole: false, closes: true });
  });

  test("a faulty trailer", () => {
    const found = read(`${ok}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX Note: a\r\n\r\n`);
    expect(found).toMatchObject({ status: 200, body: "hello", isWhole: true, closes: true });
    expect(found.warnings).toEqual([expect.stringMatching(/^trailer x note: not a valid header name/u)]);
  });

  test("bytes behind a status without a body", () => {
    const found = read("HTTP/1.1 204 No Content\r\n\r\nhello");
    expect(found).toMatchObject({ status: 204, body: "", isWhole: true, closes: true });
    expect(found.warnings).toEqual(["status 204: a body (RFC 9110 §15)"]);
  });

  test("a second response", () => {
    const found = read(`${ok}Content-Length: 0\r\n\r\n${ok}Content-Length: 0\r\n\r\n`);
    expect(found).toMatchObject({ status: 200, isWhole: true, closes: true });
  });

  test("a head that is too large, with the header at which it is cut", () => {
    const found = readAll([Buffer.from(`HTTP/1.1 410 Gone\r\nRetry-After: 7\r\nX-Big: ${"y".repeat(20_000)}`)]);
    expect(found).toMatchObject({ status: 410, headers: { "retry-after": "7" }, isWhole: false, closes: true });
    expect(found.warnings).toEqual(["x-big: the head has more than 16384 bytes"]);
    const complete = readAll([Buffer.from(`HTTP/1.1 410 Gone\r\nX-Big: ${"y".repeat(20_000)}\r\n\r\n`)]);
    expect(complete).toMatchObject({ status: 410, isWhole: false, closes: true });
  });

  test.each([
    ["behind the status line", "", {}, "header"],
    ["inside a line", "Retry-After: 7\r\nX-Tra", { "retry-after": "7" }, "retry-after"],
    ["before the empty line", "Retry-After: 7\r\n", { "retry-after": "7" }, "retry-after"],
  ])("a head that ends with its connection %s", (_, lines, headers, name) => {
    const found = read(`HTTP/1.1 503 X\r\n${lines}`);
    expect(found).toMatchObject({ status: 503, headers, body: "", isWhole: false, closes: true });
    expect(found.warnings).toEqual([`${name}: the connection ended within the head (RFC 9112 §8)`]);
  });

  test("the body of an interim response", () => {
    const found = read(`HTTP/1.1 100 Continue\r\nContent-Length: 5\r\n\r\nhello${ok}Content-Length: 2\r\n\r\nok`);
    expect(found).toMatchObject({ status: 200, body: "ok", isWhole: true, closes: true });
    expect(found.warnings).toEqual(["interim response: a body (RFC 9110 §15.2)"]);
  });

  test("a bounded number of warnings", () => {
    const lines = Array.from({ length: 40 }, (_, index) => `X ${index}: y\r\n`).join("");
    expect(read(`${ok}${lines}Content-Length: 0\r\n\r\n`).warnings).toHaveLength(8);
  });
});

describe("bytes without a final status are a fault:", () => {
  test.each([
    ["another protocol", "SSH-2.0-x\r\n", "not a response of HTTP/1"],
    ["HTTP/2", "HTTP/2 200 OK\r\n\r\n", "not a response of HTTP/1"],
    ["garbage", "\0\x01 garbage\r\n\r\n", "not a response of HTTP/1"],
    ["no status", "HTTP/1.1 OK\r\n\r\n", "not a response of HTTP/1"],
    ["a short status", "HTTP/1.1 20 OK\r\n\r\n", "not a response of HTTP/1"],
    ["a status below 100", "HTTP/1.1 099 OK\r\n\r\n", "not a response of HTTP/1"],
    ["a long status", "HTTP/1.1 2000 OK\r\n\r\n", "not a response of HTTP/1"],
    ["another protocol on request", "HTTP/1.1 101 X\r\nUpgrade: x\r\n\r\n", "the server switched protocols"],
    ["empty lines without end", "\r\n".repeat(10_000), "too many empty lines before the status line"],
    ["a status line without end", `HTTP/1.1 200 ${"y".repeat(20_000)}`, "the status line is too long"],
  ])("%s", (_, text, fault) => {
    expect(readAll([Buffer.from(text, "latin1")])).toMatchObject({ fault, isWhole: false, closes: true });
  });

  test("interim responses without end", () => {
    const interim = Buffer.from(`HTTP/1.1 103 Early Hints\r\nLink: ${"x".repeat(1_000)}\r\n\r\n`);
    const found = readAll(Array.from({ length: 100 }, () => interim));
    expect(found).toMatchObject({ fault: "too many interim responses" });
    const some = readAll([...Array.from({ length: 50 }, () => interim), Buffer.from(`${ok}Content-Length: 0\r\n\r\n`)]);
    expect(some).toMatchObject({ status: 200, warnings: [] });
  });

  test.each([
    ["a status line that is cut", "HTTP/1.1 200 OK"],
    ["an interim response that is cut", "HTTP/1.1 103 Early Hints\r\nLink: x\r\n"],
    ["an interim response alone", "HTTP/1.1 103 Early Hints\r\n\r\n"],
    ["nothing", ""],
  ])("%s is only the end of the connection", (_, text) => {
    const found = read(text);
    expect(found).toMatchObject({ isWhole: false, closes: true, warnings: [] });
    expect(found).not.toHaveProperty("fault");
    expect(found).not.toHaveProperty("status");
  });

  test("any bytes are read or a fault", () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 60 }), { maxLength: 5 }), fc.boolean(), (parts, isBegun) => {
        const start = isBegun ? [Buffer.from(ok)] : [];
        const found = readAll([...start, ...parts.map((part) => Buffer.from(part))]);
        expect(found.isWhole && found.status === undefined).toBe(false);
      }),
    );
  });
});
