import { readFile } from "node:fs/promises";
import type { JSONWebKeySet } from "jose";
import { request } from "undici";
import type { IssuerSettings } from "../config/settings.ts";

const keySetBytesMax = 1024 * 1024;
const fetchTimeoutMs = 5000;

/** Reads an issuer's JWK set from where its settings say. @throws Error that says what went wrong */
export async function loadKeys({ issuer, jwksUrl, jwksFile }: IssuerSettings): Promise<JSONWebKeySet> {
  const text = jwksUrl === undefined ? await readFile(jwksFile ?? "", "utf8") : await fetchText(jwksUrl);
  const keySet: unknown = JSON.parse(text);
  if (!isKeySet(keySet)) throw new Error(`the keys of ${issuer} are not a JWK set`);
  return keySet;
}

function isKeySet(value: unknown): value is JSONWebKeySet {
  return typeof value === "object" && value !== null && "keys" in value && Array.isArray(value.keys);
}

/** Redirects are not followed: the settings name the place that is trusted. */
async function fetchText(url: string): Promise<string> {
  const { statusCode, body } = await request(url, { signal: AbortSignal.timeout(fetchTimeoutMs) });
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > keySetBytesMax) throw new Error(`${url} answers more than ${keySetBytesMax} bytes`);
    chunks.push(chunk);
  }
  if (statusCode !== 200) throw new Error(`${url} answers ${statusCode}`);
  return Buffer.concat(chunks).toString("utf8");
}
