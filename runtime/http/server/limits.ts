/** Bounds of an HTTP server. */
export interface HttpLimits {
  /** Request target, in characters. */
  readonly targetLengthMax: number;
  /**
   * The same below `/prometheus`: an expression, or a `match[]`, of 8,192 characters whose escapes take three each.
   */
  readonly prometheusTargetLengthMax: number;
  /** Request line and headers together, in bytes. */
  readonly headerBytesMax: number;
  /** Value of one path parameter, in characters. */
  readonly segmentLengthMax: number;
  /** Time for the headers of a request to arrive. */
  readonly headersTimeoutMs: number;
  /** Time for a whole request to arrive. */
  readonly requestTimeoutMs: number;
  /** Period at which connections are checked against these two timeouts. */
  readonly timeoutCheckMs: number;
  /** Time from a request to its response. */
  readonly responseTimeoutMs: number;
  /**
   * Time for which an idle connection is kept. It exceeds the 60 s of common load balancers, so that they close first.
   */
  readonly keepAliveMs: number;
  /**
   * Time without a byte after which a connection with a running request is closed: a caller that does not read must not
   * hold a response.
   */
  readonly silenceMs: number;
  readonly connectionsMax: number;
}

/** @default of {@link HttpLimits} */
export const httpLimits: HttpLimits = {
  targetLengthMax: 8192,
  prometheusTargetLengthMax: 32_768,
  headerBytesMax: 49_152,
  segmentLengthMax: 512,
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 30_000,
  timeoutCheckMs: 1000,
  responseTimeoutMs: 30_000,
  keepAliveMs: 65_000,
  silenceMs: 60_000,
  connectionsMax: 10_000,
};
