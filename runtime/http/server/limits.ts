/** Bounds of an HTTP server. */
export interface HttpLimits {
  /** Request target, in characters. */
  readonly targetLengthMax: number;
  /** Request line and headers together, in bytes. */
  readonly headerBytesMax: number;
  /** One segment of a path that stands for a parameter, in characters. */
  readonly segmentLengthMax: number;
  /** Time for the headers of a request to arrive. */
  readonly headersTimeoutMs: number;
  /** Time for a whole request to arrive. */
  readonly requestTimeoutMs: number;
  /** How often connections are looked at for the two above. */
  readonly timeoutCheckMs: number;
  /** Time from a request to its answer. */
  readonly responseTimeoutMs: number;
  /** How long an idle connection is kept; longer than the usual load balancer's 60 s, so that it closes first. */
  readonly keepAliveMs: number;
  /**
   * How long a connection with a request under way may be without a byte, so that nobody holds an answer by not reading
   * it.
   */
  readonly silenceMs: number;
  readonly connectionsMax: number;
}

/** @default of {@link HttpLimits} */
export const httpLimits: HttpLimits = {
  targetLengthMax: 8192,
  headerBytesMax: 16_384,
  segmentLengthMax: 512,
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 30_000,
  timeoutCheckMs: 1000,
  responseTimeoutMs: 30_000,
  keepAliveMs: 65_000,
  silenceMs: 60_000,
  connectionsMax: 10_000,
};
