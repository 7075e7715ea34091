/* Definitions by a number, made once each; what requests ask for must not make them pile up. */

const MOST = 1000

/** The definitions that were made last. */
export class Recent<T> {
  readonly #known = new Map<number, T>()
  readonly #make: (number: number) => T

  constructor(make: (number: number) => T) {
    this.#make = make
  }

  get(number: number): T {
    const known = this.#known.get(number)
    if (known !== undefined) return known
    const made = this.#make(number)
    if (this.#known.size >= MOST) this.#known.delete(this.#known.keys().next().value as number)
    this.#known.set(number, made)
    return made
  }
}
