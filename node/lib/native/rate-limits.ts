/** One policy, from `RateLimit-Policy` and `RateLimit`. What the headers do not say is `undefined`. */
export interface RateLimitPolicy {
  /** Its name; drafts before the 8th have none. */
  readonly name: string | undefined
  /** Its quota (`q`). */
  readonly quota: number | undefined
  /** The window of its quota in milliseconds (`w`). */
  readonly windowMs: number | undefined
  /** The units that are left (`r`, or `a` as the editors propose). */
  readonly remaining: number | undefined
  /** Milliseconds until more is available (`t`, or `w` beside an `a`). */
  readonly resetMs: number | undefined
  /** The units that the request took (`c`, as the editors propose). */
  readonly cost: number | undefined
  /** The unit of the quota (`qu`); requests unless it is named. */
  readonly unit: string | undefined
  /** The partition that the quota is for (`pk`), in base64. */
  readonly partitionKey: string | undefined
}

/** The rate limits in the headers of a response; `undefined` where they say nothing. */
export interface RateLimits {
  /** The policies, in the order of the response. */
  readonly policies: readonly RateLimitPolicy[]
  /** The size of the limit; with several policies, of the tightest one. */
  readonly limit: number | undefined
  /** The units that are left; with several policies, of the tightest one. */
  readonly remaining: number | undefined
  /** Milliseconds until more is available. */
  readonly resetMs: number | undefined
  /** Milliseconds until all of it is available, as `X-RateLimit-Clear` says. */
  readonly fullResetMs: number | undefined
  /** Milliseconds to wait before the next request, as `Retry-After` says. It goes before all other times. */
  readonly retryAfterMs: number | undefined
}
