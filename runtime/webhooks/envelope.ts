/** The fields of an event that this program reads. Everything else passes unchanged. Source: seed §2.1. */
export interface Envelope {
  readonly eventId: string;
  /** Dotted, for example `payout.processed`. */
  readonly type: string;
  /** `YYYY-MM-DD`. */
  readonly version: string;
  /** ISO 8601 UTC with milliseconds. */
  readonly ts: string;
  readonly producer?: string;
  /** `-` for an event without a tenant. */
  readonly tenant: string;
  readonly data?: object;
}

/** An event that was checked, with the bytes it came in. */
export interface ValidEnvelope {
  readonly envelope: Envelope;
  /** Exactly as received. */
  readonly bytes: Uint8Array;
}
