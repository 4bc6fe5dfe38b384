import { signBytes } from "../../runtime/webhooks/signing/keys.ts";
import { edKey, edPublic } from "./public-keys.ts";
import {
  after,
  bodyText,
  event,
  newKey,
  newSecret,
  oldSecret,
  path,
  sent,
  shared,
  type Vector,
} from "./vector-rows.ts";

/** A request on a connection of its own, byte for byte, and what of its response is given. */
interface Exchange {
  readonly request: string;
  readonly status: number;
  /** Names in lower case. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Members of the JSON. */
  readonly body?: object;
}

/** One published case of an endpoint. `docs/how-to/receive-webhooks.md` documents the members. */
export interface HttpVector extends Pick<Vector, "name" | "about" | "scheme" | "now" | "secrets" | "public_keys"> {
  readonly exchanges: readonly Exchange[];
  /** Ids of the events that had their effect, in order. */
  readonly effects: readonly string[];
}

type Headers = readonly (readonly [name: string, value: string])[];

interface Posting {
  readonly target?: string;
  readonly headers: Vector["headers"];
  /** Headers that differ or are added, in their order. @default none */
  readonly more?: Headers;
  readonly body?: string;
  /** Text of the body with its framing. @default the body, with its length */
  readonly chunks?: string;
}

const host = "partner.example";
const ok = { status: 200 } as const;
const lineEnd = "\r\n";

/** A request as it is on the wire, which closes its connection. */
function wire(method: string, target: string, headers: Headers, content = ""): string {
  const lines = [...headers, ["Connection", "close"] as const].map(([name, value]) => `${name}: ${value}`);
  return [`${method} ${target} HTTP/1.1`, ...lines, "", content].join(lineEnd);
}

function post({ target = path, headers, more = [], body = bodyText, chunks }: Posting): string {
  const changed = new Set(more.map(([name]) => name.toLowerCase()));
  const own = Object.entries({ Host: host, ...headers }).filter(([name]) => !changed.has(name.toLowerCase()));
  const framing =
    chunks === undefined
      ? (["Content-Length", String(Buffer.byteLength(body))] as const)
      : (["Transfer-Encoding", "chunked"] as const);
  return wire("POST", target, [...own, ...more, framing], chunks ?? body);
}

function read(target: string): string {
  return wire("GET", target, [
    ["Host", host],
    ["Authorization", "Bearer operator"],
  ]);
}

const accepted: Exchange = { request: post({ headers: sent() }), ...ok };
const signature = sent()["X-Signature"] ?? "";
const oldSignature = sent({ keys: [shared(oldSecret)] })["X-Signature"] ?? "";
const message = { scheme: "HttpMessageSignatures", secrets: [], public_keys: [edPublic] } as const;
const messageHeaders = (target?: string): Vector["headers"] =>
  sent({ scheme: message.scheme, keys: [edKey], ...(target === undefined ? {} : { target }) });
const standard = sent({ scheme: "StandardWebhooks" });
const standardSignature = standard["webhook-signature"] ?? "";
const otherSignature = sent({ scheme: "StandardWebhooks", keys: [shared(oldSecret)] })["webhook-signature"] ?? "";

const acknowledgement = JSON.stringify({ event_id: event.event_id, handled_at: event.ts });
const dots = JSON.stringify({ ...event, event_id: ".." });

function chunked(text: string, end = ""): string {
  const parts = [text.slice(0, 20), text.slice(20)];
  const chunks = parts.map(
    (part, index) => `${part.length.toString(16)}${index === 0 ? ";name=value" : ""}${lineEnd}${part}${lineEnd}`,
  );
  return `${chunks.join("")}0${lineEnd}${end}${lineEnd}`;
}

function to(target: string, more: { readonly body?: string; readonly eventId?: string } = {}): string {
  return post({ target, headers: sent({ target, ...more }), ...(more.body === undefined ? {} : { body: more.body }) });
}

/** A member of `Signature-Input` and `Signature` that this key made over too little. */
function strangerEntry(): Readonly<Record<"input" | "signature", string>> {
  const made = "keyId" in edKey ? signBytes(edKey.privateKey, Buffer.from("x")).toString("base64") : "";
  return { input: 'proxy=("@method" "x-proxy");created=1;keyid="proxy"', signature: `proxy=:${made}:` };
}

function withStranger(): string {
  const headers = messageHeaders();
  const { input, signature: bytes } = strangerEntry();
  const more: Headers = [
    ["Signature-Input", input],
    ["Signature-Input", headers["Signature-Input"] ?? ""],
    ["Signature", bytes],
    ["Signature", headers["Signature"] ?? ""],
  ];
  return post({ headers, more });
}

type Row = readonly [
  name: string,
  about: string,
  exchanges: readonly Exchange[],
  effects: readonly string[],
  change?: Partial<HttpVector>,
];
const one = [event.event_id];

const rows: readonly Row[] = [
  ["http-delivery", "A delivery, then the same again.", [accepted, accepted], one],
  [
    "http-chunked",
    "The body comes in chunks.",
    [{ request: post({ headers: sent(), chunks: chunked(bodyText) }), ...ok }],
    one,
  ],
  [
    "http-chunked-trailer",
    "A trailer ends the chunks.",
    [{ request: post({ headers: sent(), chunks: chunked(bodyText, `X-Sum: 1${lineEnd}`) }), ...ok }],
    one,
  ],
  [
    "http-chunked-malformed",
    "The size of a chunk is no number.",
    [
      {
        request: post({ headers: sent(), chunks: `zz${lineEnd}${bodyText}${lineEnd}0${lineEnd}${lineEnd}` }),
        status: 400,
      },
    ],
    [],
  ],
  [
    "http-two-slashes",
    "The path begins with two slashes, and the signature covers both.",
    [{ request: to("//webhooks/v1/payout"), ...ok }],
    one,
  ],
  [
    "http-absolute-form",
    "The target is a whole URL, as a proxy may send it.",
    [{ request: post({ target: `http://${host}${path}`, headers: sent() }), ...ok }],
    one,
  ],
  [
    "http-query",
    "A query is no part of the path.",
    [{ request: post({ target: `${path}?a=/webhooks/ack`, headers: sent() }), ...ok }],
    one,
  ],
  [
    "http-two-signature-lines",
    "Each signature has a line; the second is by a known key.",
    [
      {
        request: post({
          headers: sent(),
          more: [
            ["X-Signature", oldSignature],
            ["X-Signature", signature],
          ],
        }),
        ...ok,
      },
    ],
    one,
  ],
  [
    "http-two-timestamps",
    "A header with two values is neither of them.",
    [
      {
        request: post({
          headers: sent(),
          more: [
            ["X-Timestamp", sent()["X-Timestamp"] ?? ""],
            ["X-Timestamp", "2026-01-02T03:04:05.679Z"],
          ],
        }),
        status: 401,
      },
    ],
    [],
  ],
  [
    "http-blanks-around-values",
    "A proxy writes blanks around values.",
    [{ request: post({ headers: sent() }).replaceAll(/: (.*)\r\n/gu, ":\t $1 \t\r\n"), ...ok }],
    one,
  ],
  [
    "http-two-lengths",
    "Two lengths that differ: the end of the body is ambiguous.",
    [{ request: post({ headers: sent(), more: [["Content-Length", "3"]] }), status: 400 }],
    [],
  ],
  [
    "http-unknown-entry",
    "An entry of a later version is beside a valid one.",
    [{ request: post({ headers: sent(), more: [["X-Signature", `v2=abc, ${signature}`]] }), ...ok }],
    one,
  ],
  [
    "http-standard-two-signature-lines",
    "Each signature has a line; the first is by a known key.",
    [
      {
        request: post({
          headers: standard,
          more: [
            ["webhook-signature", standardSignature],
            ["webhook-signature", otherSignature],
          ],
        }),
        ...ok,
      },
    ],
    one,
    { scheme: "StandardWebhooks" },
  ],
  ...[":443", ":80", ":"].map((port): Row => [
    `http-message-port-${port.slice(1) || "empty"}`,
    `@authority has no default port, and the Host is ${host}${port}.`,
    [{ request: post({ headers: messageHeaders(), more: [["Host", `${host}${port}`]] }), ...ok }],
    one,
    message,
  ]),
  [
    "http-message-other-port",
    "Another port is another authority.",
    [{ request: post({ headers: messageHeaders(), more: [["Host", `${host}:8443`]] }), status: 401 }],
    [],
    message,
  ],
  [
    "http-message-two-slashes-and-query",
    "The signature covers the path with both slashes, and the query.",
    [
      { request: post({ target: "//hook?code=a/b%3D", headers: messageHeaders("//hook?code=a/b%3D") }), ...ok },
      { request: post({ target: "//hook?code=a/b%3E", headers: messageHeaders("//hook?code=a/b%3D") }), status: 401 },
    ],
    one,
    message,
  ],
  [
    "http-message-entry-of-a-proxy",
    "A proxy signed too, in lines of its own.",
    [{ request: withStranger(), ...ok }],
    one,
    message,
  ],
  [
    "http-acknowledgement",
    "An acknowledgement marks its event, so that a delivery has no effect.",
    [{ request: to("/webhooks/ack", { body: acknowledgement }), ...ok }, accepted],
    [],
  ],
  [
    "http-acknowledgement-below-a-prefix",
    "The path of acknowledgements may have a prefix.",
    [{ request: to("/partners/acme/webhooks/ack", { body: acknowledgement }), ...ok }, accepted],
    [],
  ],
  [
    "http-delivery-as-acknowledgement",
    "A delivery is no acknowledgement, below a prefix either.",
    [{ request: to("/partners/acme/webhooks/ack"), status: 400 }],
    [],
  ],
  [
    "http-path-that-ends-otherwise",
    "Another path than that of acknowledgements takes deliveries.",
    [{ request: to("/webhooks/ack/"), ...ok }],
    one,
  ],
  [
    "http-status",
    "The status of an event, below a prefix too.",
    [
      accepted,
      { request: read("/webhooks/status/evt_1"), ...ok, body: { seen: true } },
      { request: read("/partners/acme/webhooks/status/evt_1?a=b"), ...ok, body: { seen: true } },
      { request: read("/webhooks/status/evt_2"), ...ok, body: { seen: false } },
      { request: read("/webhooks/status/a/b"), status: 404 },
      { request: read("/webhooks/status/%zz"), status: 400 },
    ],
    one,
  ],
  [
    "http-status-of-two-dots",
    "An event may have the id `..`, which many clients drop from a path.",
    [
      { request: to(path, { body: dots, eventId: ".." }), ...ok },
      { request: read("/webhooks/status/.."), ...ok, body: { seen: true } },
      { request: read("/webhooks/status/%2E%2E"), ...ok, body: { seen: true } },
      { request: read("/webhooks/status?event_id=.."), ...ok, body: { seen: true } },
      { request: read("/partners/acme/webhooks/status?a=b&event_id=%2E%2E"), ...ok, body: { seen: true } },
      { request: read("/webhooks/status"), status: 404 },
    ],
    [".."],
  ],
  [
    "http-consent",
    "A sender asks for consent. Source: CloudEvents web hooks §4.",
    [
      {
        request: wire("OPTIONS", path, [
          ["Host", host],
          ["WebHook-Request-Origin", "sender.example"],
          ["WebHook-Request-Rate", "120"],
        ]),
        ...ok,
        headers: { "webhook-allowed-origin": "*", "webhook-allowed-rate": "*" },
      },
      { request: wire("OPTIONS", path, [["Host", host]]), status: 404 },
    ],
    [],
  ],
];

/** Every published case of an endpoint. */
export const httpVectors: readonly HttpVector[] = rows.map(([name, about, exchanges, effects, change = {}]) => ({
  name,
  about,
  scheme: "HmacV1",
  now: after(1),
  secrets: [newKey],
  ...change,
  exchanges,
  effects,
}));

/** One text of a shared key of Standard Webhooks; `key` is its bytes in base64, or null for a rejected text. */
export interface KeyVector {
  readonly text: string;
  readonly key: string | null;
}

const digits = newSecret.toString("base64");
const plain = newSecret.toString();

/** Every published text of a key. */
export const keyVectors: readonly KeyVector[] = [
  { text: `whsec_${digits}`, key: digits },
  { text: `whsec_${digits.replaceAll("=", "")}`, key: digits },
  { text: ` whsec_${digits}\r\n`, key: digits },
  { text: plain, key: digits },
  { text: `${plain}\n`, key: Buffer.from(`${plain}\n`).toString("base64") },
  { text: digits, key: Buffer.from(digits).toString("base64") },
  { text: `v1,whsec_${digits}`, key: null },
  { text: `"whsec_${digits}"`, key: null },
  { text: `WHSEC_${digits}`, key: null },
  { text: `whpk_${digits}`, key: null },
  { text: `whsec_${digits.replace("M", "-")}`, key: null },
  { text: "whsec_MDEyMzQ1Njc4OWFiY2RlZg==", key: null },
  { text: "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEA\n-----END PUBLIC KEY-----\n", key: null },
  { text: "too short", key: null },
];
