/** The switch of all rooms, for tests: while anything holds it off, no request is limited. */
let holders = 0

/** True while requests are not limited. */
export const isOff = (): boolean => holders > 0

/** Holds the switch off, and returns what lets it go, once. */
export function holdOff(): () => void {
  let held = true
  holders++
  return () => {
    if (held) holders--
    held = false
  }
}
