/* Definitions from plain objects and from text. */

import { answered } from '../errors.js'
import { native } from '../native/native.js'
import { Checked, fieldsOf, type Limit } from './definition-cache.js'

/**
 * Checks a definition in the wire form, such as one from a file. Without a `type` it is a legacy limit. A field that is
 * `null` counts as not given.
 *
 * @throws {@link LimitError} naming the key, the field and the value at fault.
 *
 * @example
 * ```js
 * import { Limiter, limitFrom } from 'tidegate'
 *
 * const login = limitFrom(JSON.parse('{ "key": "login", "type": "bucket", "size": 10, "dripRate": null }'))
 * assert.equal(new Limiter().limitSync(login, 'ada').remaining, 9)
 * assert.throws(() => limitFrom({ key: 'login', type: 'bucket' }), /size/)
 * ```
 */
export function limitFrom(definition: object): Limit {
  if (typeof definition === 'object' && definition !== null && Checked.compiled(definition)) return definition as Limit
  return new Checked(...fieldsOf(definition)) as unknown as Limit
}

/**
 * Reads one limit from text: a count, `/` or `per`, and a period; then perhaps a type (`fixed-window`, `sliding-window`,
 * `sliding-counter`, `sliding-log`, `calendar-window`, or `token-bucket`, which it is unless it says otherwise) and what
 * that may say.
 *
 * @throws {@link LimitError} that says what was expected at which character.
 *
 * @example
 * ```js
 * import { Limiter, parseLimit } from 'tidegate'
 *
 * const api = parseLimit('api', '5/15m burst 20')
 * assert.deepEqual({ ...api }, { key: 'api', type: 'token-bucket', count: 5, period: 900_000, burst: 20 })
 * assert.equal(new Limiter().limitSync(api, 'ada').remaining, 19)
 * assert.equal(parseLimit('daily', '1000/day fixed-window').type, 'fixed-window')
 * assert.throws(() => parseLimit('api', '10/fortnight'), RangeError)
 * ```
 */
export function parseLimit(key: string, text: string): Limit {
  return Checked.of(answered(native.parseLimit(key, text)))
}

/**
 * Reads a list of limits from text, with `;` between them, to be decided together. A limit that stands alone has `key`
 * as its key; of several, each has `key`, an `@` and its period. No two may have the same period.
 *
 * @throws {@link LimitError} that says what was expected at which character.
 *
 * @example
 * ```js
 * import { Limiter, parseLimits } from 'tidegate'
 *
 * const api = parseLimits('api', '100/minute; 10/second')
 * assert.deepEqual(api.map((limit) => limit.key), ['api@1m', 'api@1s'])
 * assert.equal(new Limiter().limitSync(api, 'ada').remaining, 9)
 * ```
 */
export function parseLimits(key: string, text: string): Limit[] {
  const made = answered(native.parseLimits(key, text))
  return made.map((one) => Checked.of(one))
}

/**
 * The JSON Schema (draft 2020-12) of a definition in the wire form; under `$defs.limits` that of a document.
 *
 * @example
 * ```js
 * import { limitJsonSchema } from 'tidegate'
 *
 * assert.equal(limitJsonSchema().$defs.bucket.properties.dripRate.default, 1000)
 * ```
 */
export function limitJsonSchema(): Record<string, unknown> {
  return JSON.parse(native.jsonSchema())
}
