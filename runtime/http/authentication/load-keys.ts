import { readFile } from "node:fs/promises";
import { decodeJwt, type JSONWebKeySet } from "jose";
import { Agent, request } from "undici";
import { isMetadataAddress } from "../../../crds/networks.ts";
import { overlappingConnector } from "../../../network/undici-connector.ts";
import type { IssuerSettings } from "../../config/settings/settings.ts";

const keySetBytesMax = 1024 * 1024;
const fetchTimeoutMs = 5000;

/** Reads an issuer's JWK set from the file or URL of its settings. @throws Error with the cause */
export async function loadKeys(settings: IssuerSettings): Promise<JSONWebKeySet> {
  const { issuer, jwksUrl, jwksFile } = settings;
  const text = jwksUrl === undefined ? await readFile(jwksFile ?? "", "utf8") : await fetchText(jwksUrl, settings);
  const keySet: unknown = JSON.parse(text);
  if (!isKeySet(keySet)) throw new Error(`the keys of ${issuer} are not a JWK set`);
  return keySet;
}

/**
 * The settings with the name of their issuer. In a cluster, it is in the token of each pod,
 * and differs by distribution.
 *
 * @throws Error if the token cannot be read or names no issuer
 */
export async function namedIssuer(settings: IssuerSettings): Promise<IssuerSettings> {
  const { issuer, jwksTokenFile = "" } = settings;
  if (issuer !== "") return settings;
  const { iss } = decodeJwt((await readFile(jwksTokenFile, "utf8")).trim());
  if (iss === undefined || iss === "") throw new Error(`the token in ${jwksTokenFile} has no claim iss`);
  return { ...settings, issuer: iss };
}

function isKeySet(value: unknown): value is JSONWebKeySet {
  return typeof value === "object" && value !== null && "keys" in value && Array.isArray(value.keys);
}

/** Reads a URL without following redirects: the settings name the trusted place. */
async function fetchText(url: string, { jwksCaFile, jwksTokenFile }: IssuerSettings): Promise<string> {
  // Both files change while the program runs: the token of a pod is valid for an hour.
  const trusted = jwksCaFile === undefined ? {} : { ca: await readFile(jwksCaFile, "utf8") };
  const agent = new Agent({
    connect: overlappingConnector({ timeout: fetchTimeoutMs, refuses: isMetadataAddress, ...trusted }),
  });
  try {
    const headers =
      jwksTokenFile === undefined ? {} : { authorization: `Bearer ${(await readFile(jwksTokenFile, "utf8")).trim()}` };
    const signal = AbortSignal.timeout(fetchTimeoutMs);
    const { statusCode, body } = await request(url, { signal, headers, dispatcher: agent });
    if (statusCode !== 200) throw new Error(`${url} returned the status ${statusCode}`);
    return await boundedText(url, body);
  } finally {
    await agent.destroy();
  }
}

async function boundedText(url: string, body: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > keySetBytesMax) throw new Error(`${url} returned more than ${keySetBytesMax} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}
