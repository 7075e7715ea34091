/**
 * The layout of the typed array in which a call's numbers go in and its answer's numbers come out.
 * `src/frame.rs` holds the same; the two must change together.
 */

/** In: which limiter, which call, then an optional instant and an optional longest wait, each behind a 0 or 1. */
export const LIMITER = 0
export const CALL = 1
export const HAS_NOW = 2
export const NOW = 3
export const HAS_MAX_WAIT = 4
export const MAX_WAIT = 5
/** In: from here on three numbers for each check: limit, cost, factor. */
export const CHECKS = 6
export const CHECK_WIDTH = 3

/** Out: how many checks the answer has, and which of them decided. */
export const COUNT = 0
export const BINDING = 1
/** Out: from here on the merged answer, then, when there are several, the answer of each check. */
export const ANSWERS = 2
export const ANSWER_WIDTH = 9
/** The numbers of an answer; the last is the index of the check that it belongs to. */
export const BLOCKED = 0
export const REMAINING = 1
export const RESET_MS = 2
export const FULL_RESET_MS = 3
export const WAIT_MS = 4
export const NEXT_MS = 5
export const QUOTA = 6
export const WINDOW_MS = 7
export const OWNER = 8

/** The calls by number. */
export const LIMIT = 0
export const PEEK = 1
export const CHARGE = 2
export const REFUND = 3
export const RESET = 4
export const ACQUIRE = 5

/** Room for a decision of this many checks, each of which may be answered twice. */
export function frameOf(checks: number): Float64Array {
  return new Float64Array(ANSWERS + (1 + 2 * checks) * ANSWER_WIDTH)
}
