import { ANSWER_WIDTH, Answer } from './buffer.js'
import { outOfRange, ownKeys, read, wrongType } from './errors.js'

/** What an answer says, as a plain object. */
export interface LimitInfoJson {
  readonly blocked: boolean
  readonly allowed: boolean
  readonly remaining: number
  readonly resetMs: number
  readonly resetSec: number
  readonly fullResetMs: number
  readonly fullResetSec: number
  readonly waitMs: number
  readonly nextMs: number
  readonly key: string
  readonly quota: number
  readonly windowMs: number
  readonly binding: number
  readonly degraded: boolean
  /** The answers of the checks, where there were several. */
  readonly checks?: readonly LimitInfoJson[]
}

/** The fields of an answer that a test makes up; what is left out is as where nothing is limited. */
export interface StubFields<Info> {
  /** @defaultValue false */
  readonly blocked?: boolean | undefined
  /** @defaultValue 2^53 - 1, or 0 for a denial */
  readonly remaining?: number | undefined
  /** @defaultValue 0; `resetSec` follows from it */
  readonly resetMs?: number | undefined
  /** @defaultValue `resetMs`; `fullResetSec` follows from it */
  readonly fullResetMs?: number | undefined
  /** @defaultValue 0 */
  readonly waitMs?: number | undefined
  /** @defaultValue 0 */
  readonly nextMs?: number | undefined
  /** @defaultValue '' */
  readonly key?: string | undefined
  /** @defaultValue 2^53 - 1 */
  readonly quota?: number | undefined
  /** @defaultValue 0 */
  readonly windowMs?: number | undefined
  /** @defaultValue 0 */
  readonly binding?: number | undefined
  /** @defaultValue false */
  readonly degraded?: boolean | undefined
  /** The answers of several checks. @defaultValue the answer itself */
  readonly checks?: readonly Info[] | undefined
}

const TYPES: Readonly<Record<keyof StubFields<unknown>, string>> = {
  blocked: 'boolean',
  remaining: 'number',
  resetMs: 'number',
  fullResetMs: 'number',
  waitMs: 'number',
  nextMs: 'number',
  key: 'string',
  quota: 'number',
  windowMs: 'number',
  binding: 'number',
  degraded: 'boolean',
  checks: 'object',
}

/** The numbers of an answer that a test makes up, as the engine lays them out. */
export function stubFrom<Info>(given: unknown) {
  const { blocked = false, degraded = false, key = '', binding = 0, checks, ...numbers } = fieldsFrom<Info>(given)
  const { resetMs = 0, fullResetMs = resetMs, quota = Number.MAX_SAFE_INTEGER } = numbers
  const laid = new Float64Array(ANSWER_WIDTH)
  laid[Answer.Fate] = (blocked ? 1 : 0) + (degraded ? 2 : 0)
  laid[Answer.Remaining] = numbers.remaining ?? (blocked ? 0 : Number.MAX_SAFE_INTEGER)
  laid[Answer.ResetMs] = resetMs
  laid[Answer.ResetSec] = Math.ceil(resetMs / 1000)
  laid[Answer.FullResetMs] = fullResetMs
  laid[Answer.FullResetSec] = Math.ceil(fullResetMs / 1000)
  laid[Answer.WaitMs] = numbers.waitMs ?? 0
  laid[Answer.NextMs] = numbers.nextMs ?? 0
  laid[Answer.Quota] = quota
  laid[Answer.WindowMs] = numbers.windowMs ?? 0
  return { numbers: laid, key, binding, several: checks }
}

function fieldsFrom<Info>(given: unknown): StubFields<Info> {
  const fields: Record<string, unknown> = {}
  if (given === undefined) return fields
  if (typeof given !== 'object' || given === null) throw wrongType('', 'fields', 'must be an object', given)
  for (const name of ownKeys(given, 'fields', '')) {
    const value = read(given, name, '')
    if (!Object.hasOwn(TYPES, name)) throw wrongType('', name, 'is not a field of an answer', value)
    if (value === undefined || value === null) continue
    const type = TYPES[name as keyof StubFields<Info>]
    if (typeof value !== type) throw wrongType('', name, `must be a ${type}`, value)
    if (type === 'number' && !(Number.isInteger(value) && (value as number) >= 0)) {
      throw outOfRange('', name, 'must be a whole number of at least 0', value)
    }
    fields[name] = value
  }
  return fields
}
