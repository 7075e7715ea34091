/** The switch of all rooms, for tests: off, no request is limited. */
let off = false

/** True while requests are not limited. */
export const isOff = (): boolean => off

/** Turns the switch. */
export function turn(to: 'on' | 'off'): void {
  off = to === 'off'
}
