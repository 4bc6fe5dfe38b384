import { readFile } from "node:fs/promises";
import { createLocalJWKSet, decodeJwt, errors, type JSONWebKeySet, type JWTVerifyGetKey } from "jose";
import { isMetadataAddress } from "../../../crds/networks.ts";
import { readBoundedBody } from "../../../network/bounded-body.ts";
import { Agent, overlappingConnector, request } from "../../../network/undici-connector.ts";
import type { IssuerSettings } from "../../config/settings/settings.ts";
import { ApiError } from "../../errors/api-error.ts";

/** When keys are read again. */
export const keySourceTimes = {
  /** Age at which keys are read again in the background. A cooldown later, requests wait for the read. */
  refreshMs: 10 * 60_000,
  /** Least time between two reads, also after a failed one and for unknown key ids: bounds what a caller can cause. */
  cooldownMs: 10_000,
  /** Age up to which keys are trusted while they cannot be read. */
  staleMs: 24 * 3_600_000,
};
const { refreshMs, cooldownMs, staleMs } = keySourceTimes;

interface KeySet {
  readonly getKey: JWTVerifyGetKey;
  readonly loadedAtMs: number;
}

/**
 * Public keys of one issuer, read on first use. They are read again by age, and when a token names an unknown key id.
 * Concurrent requests share one read. Source: RFC 7517; rotation as in OpenID Connect Core §10.1.1.
 */
export class KeySource {
  private readonly load: () => Promise<JSONWebKeySet>;
  private readonly now: () => number;
  private current: KeySet | undefined;
  private reading: Promise<void> | undefined;
  private lastReadMs = Number.NEGATIVE_INFINITY;
  private lastError: unknown;
  private reads = 0;

  /** @param now a monotonic clock, milliseconds. @default performance.now */
  constructor(load: () => Promise<JSONWebKeySet>, now = () => performance.now()) {
    this.load = load;
    this.now = now;
  }

  /**
   * The key that verifies a token. @throws ApiError `not_ready` when there are no keys; jose's `JWKSNoMatchingKey`
   */
  readonly getKey: JWTVerifyGetKey = async (header, token) => {
    const keys = await this.keys();
    try {
      return await keys.getKey(header, token);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
      await this.read();
      return (this.current ?? keys).getKey(header, token);
    }
  };

  /**
   * Version of the keys. It changes with every read, so that cached tokens are verified again. It is undefined while no
   * keys are trusted, or while a read must come first. It starts a read in the background when the keys are old.
   */
  readonly version = (): number | undefined => {
    const ageMs = this.ageMs();
    if (ageMs >= refreshMs) void this.read();
    return ageMs < staleMs && !this.mustRead(ageMs) ? this.reads : undefined;
  };

  private ageMs(): number {
    return this.current === undefined ? Number.POSITIVE_INFINITY : this.now() - this.current.loadedAtMs;
  }

  /** No request waits for an issuer whose last read failed. Its keys are then trusted until they are stale. */
  private mustRead(ageMs: number): boolean {
    return ageMs >= staleMs || (ageMs >= refreshMs + cooldownMs && this.lastError === undefined);
  }

  private async keys(): Promise<KeySet> {
    const ageMs = this.ageMs();
    if (this.mustRead(ageMs)) await this.read();
    else if (ageMs >= refreshMs) void this.read();
    if (this.current !== undefined && this.ageMs() < staleMs) return this.current;
    throw new ApiError("not_ready", "The keys of the token's issuer are temporarily unavailable.", {
      retryAfterSeconds: cooldownMs / 1000,
      cause: this.lastError,
    });
  }

  /** Never rejects. Known keys stay in force while a read fails. */
  private async read(): Promise<void> {
    if (this.reading === undefined) {
      if (this.now() - this.lastReadMs < cooldownMs) return;
      this.lastReadMs = this.now();
      this.reading = this.replace().finally(() => {
        this.reading = undefined;
      });
    }
    await this.reading;
  }

  private async replace(): Promise<void> {
    try {
      this.current = { getKey: createLocalJWKSet(await this.load()), loadedAtMs: this.now() };
      this.reads += 1;
      this.lastError = undefined;
    } catch (error) {
      this.lastError = error;
    }
  }
}

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
    connect: overlappingConnector({ timeout: fetchTimeoutMs, rejects: isMetadataAddress, ...trusted }),
  });
  try {
    const headers =
      jwksTokenFile === undefined ? {} : { authorization: `Bearer ${(await readFile(jwksTokenFile, "utf8")).trim()}` };
    const signal = AbortSignal.timeout(fetchTimeoutMs);
    const { statusCode, body } = await request(url, { signal, headers, dispatcher: agent });
    if (statusCode !== 200) throw new Error(`${url} returned the status ${statusCode}`);
    return (await readBoundedBody(body, keySetBytesMax, url)).toString();
  } finally {
    await agent.destroy();
  }
}
