import { outOfRange, ownKeys, read, wrongType } from '../errors.js'
import { ANSWER_WIDTH } from '../native/buffer.js'
import { INFO_FLAGS, INFO_NUMBERS, type InfoNumbers } from '../native/names.js'

/** The fields of an answer as a plain object. */
export interface LimitInfoJson extends InfoNumbers {
  readonly allowed: boolean
  readonly key: string
  readonly actor: string
  readonly binding: number
  /** The answers of the checks, where there were several. */
  readonly checks?: readonly LimitInfoJson[]
}

type Settable = Omit<InfoNumbers, 'resetSec' | 'fullResetSec'>

/**
 * The fields of an answer that a test makes up. The others are as where nothing is limited, but `remaining` is 0 for a
 * denial, and `fullResetMs` is `resetMs`. The seconds follow from the milliseconds.
 */
export type StubFields<Info> = { readonly [Field in keyof Settable]?: Settable[Field] | undefined } & {
  /** The key of the limit. @defaultValue '' */
  readonly key?: string | undefined
  /** The actor of the check that decides. @defaultValue '' */
  readonly actor?: string | undefined
  /** The index of the check that decides. @defaultValue 0 */
  readonly binding?: number | undefined
  /** The answers of several checks. @defaultValue the answer itself */
  readonly checks?: readonly Info[] | undefined
}

const TYPES = new Map([
  ...Object.keys(INFO_FLAGS).map((name) => [name, 'boolean'] as const),
  ...Object.keys(INFO_NUMBERS).map((name) => [name, 'number'] as const),
  ['key', 'string'] as const,
  ['actor', 'string'] as const,
  ['binding', 'number'] as const,
  ['checks', 'object'] as const,
])
/** As large as a cost may be. */
const MOST = 2 ** 53
for (const name of ['resetSec', 'fullResetSec']) TYPES.delete(name)

/** An answer that a test makes up. */
export interface Stub<Info> {
  /** As the engine lays them out. */
  readonly numbers: Float64Array
  readonly key: string
  readonly actor: string
  readonly binding: number
  readonly several: readonly Info[] | undefined
}

/** The answer that a test makes up of these fields. */
export function stubFrom<Info>(given: unknown): Stub<Info> {
  const { key = '', actor = '', binding = 0, checks, ...fields } = fieldsFrom<Info>(given)
  const { blocked = false, resetMs = 0, fullResetMs = resetMs } = fields
  const numbers = new Float64Array(ANSWER_WIDTH)
  writeNumbers(numbers, 0, {
    remaining: blocked ? 0 : Number.MAX_SAFE_INTEGER,
    quota: Number.MAX_SAFE_INTEGER,
    ...(fields as Partial<InfoNumbers>),
    fullResetMs,
    resetSec: Math.ceil(resetMs / 1000),
    fullResetSec: Math.ceil(fullResetMs / 1000),
  })
  return { numbers, key, actor, binding, several: checks }
}

/** Writes the numbers of an answer from `at` on; those that are missing are 0. */
export function writeNumbers(numbers: Float64Array, at: number, info: Partial<InfoNumbers>): void {
  numbers[at] = 0
  for (const [name, bit] of Object.entries(INFO_FLAGS)) {
    if (info[name as keyof InfoNumbers]) numbers[at] += bit
  }
  for (const [name, place] of Object.entries(INFO_NUMBERS)) {
    numbers[at + place] = Number(info[name as keyof InfoNumbers] ?? 0)
  }
}

function fieldsFrom<Info>(given: unknown): StubFields<Info> {
  const fields: Record<string, unknown> = {}
  if (given === undefined) return fields
  if (typeof given !== 'object' || given === null) throw wrongType('', 'fields', 'must be an object', given)
  for (const name of ownKeys(given, 'fields', '')) {
    const value = read(given, name, '')
    const type = TYPES.get(name)
    if (type === undefined) throw wrongType('', name, 'is not a field of an answer', value)
    if (value === undefined || value === null) continue
    if (typeof value !== type) throw wrongType('', name, `must be a ${type}`, value)
    if (type === 'number' && !(Number.isInteger(value) && (value as number) >= 0 && (value as number) <= MOST)) {
      throw outOfRange('', name, 'must be a whole number, at least 0 and below 2^53', value)
    }
    if (type === 'string' && !(value as string).isWellFormed()) {
      throw outOfRange('', name, 'must be well-formed, without lone surrogates', value)
    }
    fields[name] = value
  }
  return fields
}
