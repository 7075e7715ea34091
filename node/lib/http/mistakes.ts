import { native } from '../native/native.js'
import { byName } from '../results/headers.js'

/** The codes of mistakes in how limits are set up; the documentation has a page for each. */
export type MistakeCode =
  | 'forwarded-not-trusted'
  | 'peer-not-trusted'
  | 'forwarded-read-twice'
  | 'underscored-header'
  | 'everything-trusted'
  | 'counted-twice'
  | 'limiter-per-request'
  | 'memory-many-workers'
  | 'sync-on-event-loop'
  | 'same-key-twice'
  | 'same-name-twice'
  | 'name-missing'
  | 'limit-not-applied'
  | 'store-unreachable'
  | 'no-client-address'
  | 'middleware-missing'

/** The sentence of every mistake, by its code. */
export const MISTAKES = new Map(Object.entries(byName(native.mistakes()))) as ReadonlyMap<MistakeCode, string>

/** Warns of a mistake. */
export function tell(code: MistakeCode, text: string): void {
  process.emitWarning(text, { type: 'TidegateWarning', code })
}

/** Forgets the mistakes that were reported, for tests. */
export function forgetMistakes(): void {
  native.forgetMistakes()
}
