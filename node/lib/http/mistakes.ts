import { native } from '../native/native.js'

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
export const MISTAKES: ReadonlyMap<MistakeCode, string> = new Map(pairs(native.mistakes()))

function* pairs(flat: readonly string[]): Generator<[MistakeCode, string]> {
  for (let at = 0; at < flat.length; at += 2) yield [flat[at] as MistakeCode, flat[at + 1] as string]
}

/** Warns of a mistake. */
export function tell(code: MistakeCode, text: string): void {
  process.emitWarning(text, { type: 'TidegateWarning', code })
}

/** Forgets the mistakes that were reported, for tests. */
export function forgetMistakes(): void {
  native.forgetMistakes()
}
