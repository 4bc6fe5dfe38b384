import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTVerifyGetKey } from "jose";
import { Refusal } from "../../errors/refusal.ts";

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
   * The key that verifies a token. @throws Refusal `not_ready` when there are no keys; jose's `JWKSNoMatchingKey`
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
    throw new Refusal("not_ready", "The keys of the token's issuer cannot be read now.", {
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
