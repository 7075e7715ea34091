/* The switch of all rooms, for tests: while anything holds it off, no request is limited. */

// One for the process: test runners load this package again for each test file, or when a test resets its modules.
const NAME = Symbol.for('tidegate.switch')
const all = globalThis as { [NAME]?: { holders: number } }
all[NAME] ??= { holders: 0 }
const state = all[NAME]

export const isOff = (): boolean => state.holders > 0

/** Holds the switch off, and returns what lets it go, once. */
export function holdOff(): () => void {
  let held = true
  state.holders++
  return () => {
    if (held) state.holders--
    held = false
  }
}
