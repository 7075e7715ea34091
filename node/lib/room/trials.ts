import type { NativeTrialCounts } from '../native/native.js'

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
export function trialsOf(counts: NativeTrialCounts): Trials {
  const shadow = counts
    .shadow()
    .map(({ key, counts: [admitted = 0, denied = 0] }) => [key, { admitted, denied }] as const)
  const candidates = counts.candidates().map(({ key, counts: each }) => {
    const [bothAdmitted = 0, bothDenied = 0, onlyLiveDenied = 0, onlyCandidateDenied = 0] = each
    return [key, { bothAdmitted, bothDenied, onlyLiveDenied, onlyCandidateDenied }] as const
  })
  return { shadow: Object.fromEntries(shadow), candidates: Object.fromEntries(candidates) }
}
