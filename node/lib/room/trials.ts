import type { Trial } from '../native/native.js'

/** Counts of a limit in shadow mode: what it would have done. */
export interface ShadowCounts {
  admitted: number
  denied: number
}

/** Counts of a candidate beside the live limit. */
export interface CandidateCounts {
  /** Both admitted the request. */
  bothAdmitted: number
  /** Both denied it. */
  bothDenied: number
  /** The live limit denied it, and the candidate would have admitted it. */
  onlyLiveDenied: number
  /** The live limit admitted it, and the candidate would have denied it. */
  onlyCandidateDenied: number
}

/** Counts by the keys of limits: those in shadow mode, and the live ones that have a candidate. */
export interface Trials {
  readonly shadow: Readonly<Record<string, Readonly<ShadowCounts>>>
  readonly candidates: Readonly<Record<string, Readonly<CandidateCounts>>>
}

/** The counts of a room. */
export class TrialCounts {
  readonly #shadow = new Map<string, ShadowCounts>()
  readonly #candidates = new Map<string, CandidateCounts>()

  /** Counts a result: of a limit in shadow mode, or of a candidate beside the live limit. */
  note({ key, live, denied }: Trial): void {
    if (typeof live === 'boolean') {
      const none = { bothAdmitted: 0, bothDenied: 0, onlyLiveDenied: 0, onlyCandidateDenied: 0 }
      const counts = entry(this.#candidates, key, none)
      if (live) counts[denied ? 'bothDenied' : 'onlyLiveDenied']++
      else counts[denied ? 'onlyCandidateDenied' : 'bothAdmitted']++
    } else {
      entry(this.#shadow, key, { admitted: 0, denied: 0 })[denied ? 'denied' : 'admitted']++
    }
  }

  /** The counts so far. */
  read(): Trials {
    return { shadow: copy(this.#shadow), candidates: copy(this.#candidates) }
  }
}

/** Keys that are made up at run time must not pile up. */
const MOST_KEYS = 1000

function entry<T>(counts: Map<string, T>, key: string, none: T): T {
  const known = counts.get(key) ?? none
  if (counts.size < MOST_KEYS) counts.set(key, known)
  return known
}

function copy<T extends object>(counts: ReadonlyMap<string, T>): Record<string, T> {
  return Object.fromEntries(Array.from(counts, ([key, each]) => [key, { ...each }]))
}
