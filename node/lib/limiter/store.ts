import { answered, optionNames, read, wrongType } from '../errors.js'
import { native } from '../native/native.js'
import type { Store } from '../results/info.js'
import { clockFrom } from '../time/clock.js'
import { Listeners } from './events.js'
import { replyQueue } from './queue.js'
import { type LimiterOptions, OPTION_NAMES } from './store-options.js'

/**
 * The policy for calls that the store cannot decide:
 *
 * - `local`: this process alone enforces the limit, in memory and at its full size, until the store is back
 * - `allow`: every call is admitted
 * - `deny`: every call is denied, for a second
 * - `raise`: the call rejects with a {@link StoreError}
 */
export type OnError = NonNullable<LimiterOptions['onError']>

/** A store, and the listeners to its events. */
export interface OpenedStore {
  readonly store: Store
  readonly listeners: Listeners
}

const MEMORY = 'memory://'
const SHARED_MEMORY = 'shm://'
const NO_URL = 'must be a string or a URL; without one, new Limiter() is in memory'

/** The store that the arguments of a constructor ask for; the engine checks all of them but the clock. */
export function storeOf(given: readonly unknown[]): OpenedStore {
  const [first, second] = given
  const isUrl = typeof first === 'string' || first instanceof URL
  if (given.length > 0 && !isUrl && (typeof first !== 'object' || first === null)) {
    throw wrongType('', 'url', NO_URL, first)
  }
  const options = fieldsOf(isUrl ? second : first)
  const named = options.has('url')
  if (isUrl && named) throw wrongType('', 'url', 'must be given once', 'two of them')
  const url = isUrl ? first : named ? options.get('url') : MEMORY
  options.delete('url')
  const clock = clockFrom(options.get('clock'))
  options.delete('clock')
  const address = url instanceof URL ? url.href : url
  if (typeof address !== 'string') throw wrongType('', 'url', NO_URL, address)
  const [names, values] = [[...options.keys()], [...options.values()]]
  // In memory, also in that which processes share, calls are decided on the thread that asks.
  const shared = address !== MEMORY && !address.startsWith(SHARED_MEMORY)
  const listeners = new Listeners(shared)
  const handle = answered(native.makeLimiter(replyQueue(), listeners.number, address, names, values))
  return { store: { handle, shared, clock, plain: !shared && clock === undefined }, listeners }
}

/** Options by their names, each read once; those of `tls` by names of their own. */
function fieldsOf(given: unknown, what = 'options', prefix = ''): Map<string, unknown> {
  const fields = new Map<string, unknown>()
  if (given === undefined || given === null) return fields
  const own = OPTION_NAMES.filter((name) => name.startsWith(prefix)).map((name) => name.slice(prefix.length))
  for (const name of optionNames(given, what, prefix === '' ? [...own, 'url', 'clock', 'tls'] : own)) {
    const value = read(given, name, '')
    if (name === 'tls' && prefix === '') {
      for (const [inner, pem] of fieldsOf(value, 'tls', 'tls.')) fields.set(inner, pem)
    } else if (value !== undefined || name === 'url') {
      const isPem = prefix !== '' && value instanceof Uint8Array
      fields.set(prefix + name, isPem ? Buffer.from(value).toString('latin1') : value)
    }
  }
  return fields
}
