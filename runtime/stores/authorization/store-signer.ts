import { createHmac, hash } from "node:crypto";
import type { Exchanged } from "../prometheus/store-http.ts";
import { StoreError } from "../store-error.ts";
import type { Authorizer } from "./exchange-authorized.ts";

/** Amazon Managed Service for Prometheus. */
const apsService = "aps";
const forbidden = 403;
/** AWS rejects signatures that are older or newer by this. */
const skewMsMax = 300_000;
const reasonLengthMax = 300;

/**
 * Signs requests to a store by AWS Signature Version 4.
 *
 * @param url of the store
 * @param now Unix milliseconds
 */
export function createStoreSigner(
  region: string,
  url: string,
  keys: AwsKeys,
  now: () => number = Date.now,
): Authorizer {
  const { host } = new URL(url);
  return {
    headers: (request) =>
      Promise.resolve(awsSignature({ ...request, host }, keys, { region, service: apsService, nowMs: now() })),
    rejected: (_headers, response) => rejectedSignature(response, now()),
    close: () => Promise.resolve(),
  };
}

/** False for a response that rejects no signature. @throws StoreError with the reason of the rejection */
export function rejectedSignature({ status, headers, body }: Exchanged, nowMs: number): false {
  if (status !== forbidden) return false;
  throw new StoreError("status", `HTTP 403: ${reasonOf(body.toString("utf8"))}${skewOf(headers["date"], nowMs)}`);
}

/** AWS repeats the canonical request, which contains the session token. */
function reasonOf(body: string): string {
  return body.replace(/(?:\s|\\n)*The Canonical String.*$/su, "").slice(0, reasonLengthMax);
}

function skewOf(date: unknown, nowMs: number): string {
  const skewMs = nowMs - Date.parse(String(date));
  if (!(Math.abs(skewMs) > skewMsMax)) return "";
  const seconds = Math.round(Math.abs(skewMs) / 1_000);
  return `; the clock of this pod is ${seconds} s ${skewMs > 0 ? "ahead of" : "behind"} the clock of the store`;
}

/** Keys of AWS. */
export interface AwsKeys {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** Of temporary keys. */
  readonly sessionToken?: string;
}

/** The request to sign, as it is sent. */
interface AwsRequest {
  readonly method: string;
  /** Value of the `Host` header. */
  readonly host: string;
  /** Path and query. */
  readonly path: string;
  /** Lowercase names. Only `content-type` is signed, because proxies add and change others. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Where and when a signature is valid. */
interface AwsScope {
  readonly region: string;
  readonly service: string;
  /** Unix milliseconds. */
  readonly nowMs: number;
}

const algorithm = "AWS4-HMAC-SHA256";
const sha256 = (text: string): string => hash("sha256", text, "hex");
const hmac = (key: string | Buffer, text: string): Buffer => createHmac("sha256", key).update(text).digest();

/**
 * The headers that sign a request by AWS Signature Version 4. Source: AWS IAM User Guide, "Create a signed AWS API
 * request".
 */
export function awsSignature(
  request: AwsRequest,
  keys: AwsKeys,
  { region, service, nowMs }: AwsScope,
): Readonly<Record<string, string>> {
  const time = new Date(nowMs).toISOString().replaceAll(/[-:]|\.\d+/gu, "");
  const date = time.slice(0, 8);
  const scope = `${date}/${region}/${service}/aws4_request`;
  const added = {
    "x-amz-date": time,
    ...(keys.sessionToken === undefined ? {} : { "x-amz-security-token": keys.sessionToken }),
  };
  const type = request.headers["content-type"];
  const signed = { ...(type === undefined ? {} : { "content-type": type }), host: request.host, ...added };
  const names = Object.keys(signed).join(";");
  const toSign = [algorithm, time, scope, sha256(canonicalRequest(request, signed, names))].join("\n");
  const dateKey = hmac(`AWS4${keys.secretAccessKey}`, date);
  const key = [region, service, "aws4_request"].reduce(hmac, dateKey);
  const signature = hmac(key, toSign).toString("hex");
  const credential = `${keys.accessKeyId}/${scope}`;
  return {
    ...added,
    authorization: `${algorithm} Credential=${credential}, SignedHeaders=${names}, Signature=${signature}`,
  };
}

/** @param signed in the order of their names */
function canonicalRequest(
  { method, path, body }: AwsRequest,
  signed: Readonly<Record<string, string>>,
  names: string,
): string {
  const queryAt = path.indexOf("?");
  const [plain, query] = queryAt === -1 ? [path, ""] : [path.slice(0, queryAt), path.slice(queryAt + 1)];
  const headers = Object.entries(signed).map(([name, value]) => `${name}:${value.trim().replaceAll(/ +/gu, " ")}\n`);
  return [method, canonicalPath(plain), canonicalQuery(query), headers.join(""), names, sha256(body)].join("\n");
}

/** Encodes the path, which is encoded already, once more, as every service but S3 expects it. */
function canonicalPath(path: string): string {
  const parts: string[] = [];
  for (const part of path.split("/")) {
    if (part === "..") parts.pop();
    else if (part !== "" && part !== ".") parts.push(part);
  }
  const slash = parts.length > 0 && /\/(?:\.{1,2})?$/u.test(path) ? "/" : "";
  return `/${parts.map(encoded).join("/")}${slash}`;
}

/** Parameters by their encoded names, then by their encoded values. A plus sign is a space. */
function canonicalQuery(query: string): string {
  const pairs = [...new URLSearchParams(query)].map(([name, value]) => [encoded(name), encoded(value)] as const);
  const byCode = (one: string, other: string): number => (one < other ? -1 : Number(one > other));
  return pairs
    .sort(([name, value], [otherName, other]) => byCode(name, otherName) || byCode(value, other))
    .map(([name, value]) => `${name}=${value}`)
    .join("&");
}

/** Percent-encodes all but unreserved characters. Source: RFC 3986 §2.3. */
function encoded(text: string): string {
  return encodeURIComponent(text).replaceAll(/[!'()*]/gu, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`);
}
