/*
 * The layout of the typed array in which a call's numbers go in and its answer's numbers come out. `src/buffer.rs`
 * holds the same; the two must change together.
 */

// biome-ignore-all lint/suspicious/noConstEnum: nothing outside of this package sees them, and plain numbers make functions small enough to be inlined

/** The numbers that go in: limiter, call, an optional instant and an optional longest wait, and the checks. */
export const enum In {
  Limiter = 0,
  Call = 1,
  HasNow = 2,
  Now = 3,
  HasMaxWait = 4,
  MaxWait = 5,
  /** For a receipt: when it was charged, in microseconds. */
  ChargedAt = 6,
  /** For a store that others share: the reply queue for the answer. */
  Queue = 7,
  /** For a store that others share: the number of the call. */
  Id = 8,
  /** For a receipt: 1 if its call was denied, 2 more if its answer was degraded, 4 more if it is still open. */
  Receipt = 9,
  /** For a few checks that cross in the shared call buffer: how many there are. */
  CheckCount = 10,
  /** From here on {@link CHECK_WIDTH} numbers for each check: limit, cost, factor, and for a receipt when it was charged. */
  Checks = 11,
}

/** The width of a check in numbers. */
export const CHECK_WIDTH = 4

/**
 * What comes out: how many checks the answer has, which of them decided, and the answers. Less than none: it is yet to
 * come. None: it is in small numbers, in an array of integers of 32 bits, but for its {@link Answer.At}.
 */
export const enum Out {
  Count = 0,
  Binding = 1,
  /** From here on the merged answer, then, when there are several, the answer of each check. */
  Answers = 2,
}

/** The numbers of an answer; the last is the index of the check that it belongs to. */
export const enum Answer {
  /** 1 if blocked, and 2 more if degraded. */
  Fate = 0,
  Remaining = 1,
  ResetMs = 2,
  FullResetMs = 3,
  WaitMs = 4,
  NextMs = 5,
  Quota = 6,
  WindowMs = 7,
  ResetSec = 8,
  FullResetSec = 9,
  /** The instant of the decision, in microseconds; 0 where nothing is limited. */
  At = 10,
  Owner = 11,
}

/** The width of an answer in numbers. */
export const ANSWER_WIDTH = 12

/** The width of an answer in the fast buffer: all but the last two. */
export const FAST_WIDTH = 10

/** The most checks that cross in the shared call buffer. */
export const FEW = 8

/** The calls by number. */
export const enum Call {
  Limit = 0,
  Peek = 1,
  Charge = 2,
  Refund = 3,
  Reset = 4,
  Acquire = 5,
}

/** Room for a decision of this many checks, each of which may be answered twice. */
export function bufferOf(checks: number): Float64Array {
  return new Float64Array(Out.Answers + (1 + 2 * checks) * ANSWER_WIDTH)
}
