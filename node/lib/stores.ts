import { clockFrom } from './clock.js'
import { answered, ownKeys, read, wrongType } from './errors.js'
import { Listeners } from './events.js'
import type { Store } from './info.js'
import { native } from './native.js'
import { replyQueue } from './queue.js'

/**
 * What a call is answered when the store cannot decide it:
 *
 * - `local`: this process alone enforces the limit, in memory and at its full size, until the store is back
 * - `allow`: every call is admitted
 * - `deny`: every call is denied, for a second
 * - `raise`: the call rejects with a {@link StoreError}
 */
export type OnError = 'local' | 'allow' | 'deny' | 'raise'

/**
 * How a limiter keeps its entries. Those options that are for a store that others share are checked for one in memory
 * too, and change nothing there, so that only the URL has to differ. One that is null is as if it were not given.
 */
export interface LimiterOptions {
  /** What the names of all keys in the store begin with. @defaultValue 'tidegate' */
  readonly namespace?: string | null | undefined
  /** How many entries this process keeps at most; of a shared store, while it cannot decide. @defaultValue 1_000_000 */
  readonly maxEntries?: number | null | undefined
  /** The longest time in milliseconds that a decision may take, connecting included; from 1. @defaultValue 100 */
  readonly timeoutMs?: number | null | undefined
  /** What a call is answered when the store cannot decide it. @defaultValue 'local' */
  readonly onError?: OnError | null | undefined
  /**
   * How many milliseconds this process remembers at most that a call was denied, and denies it again without asking;
   * never longer than the denial itself said. 0 asks every time. @defaultValue 1000
   */
  readonly denyCacheMs?: number | null | undefined
  /**
   * How many replicas have to have a charge before its call is answered; where too few acknowledge it in time, the
   * charge stays on the primary and the call is answered as {@link onError} says. 0 waits for none. @defaultValue 0
   */
  readonly waitReplicas?: number | null | undefined
  /**
   * How the server is made to decide: by a script, in one round trip, or by transactions, for servers that run no
   * scripts; those take buckets alone. @defaultValue 'script'
   */
  readonly strategy?: 'script' | 'transactions' | null | undefined
  /**
   * What entries are on the server: one key of our own each, or the two keys of Sharkey's nodes, for buckets alone.
   * @defaultValue 'own'
   */
  readonly layout?: 'own' | 'sharkey' | null | undefined
  /** The user, in place of the URL's. */
  readonly username?: string | null | undefined
  /** The password, in place of the URL's. */
  readonly password?: string | null | undefined
  /** The user with which sentinels are asked, who have logins of their own. */
  readonly sentinelUsername?: string | null | undefined
  /** The password for sentinels. */
  readonly sentinelPassword?: string | null | undefined
  /** Certificates, where the URL asks for TLS. */
  readonly tls?: TlsOptions | null | undefined
}

/** Certificates in PEM form. */
export interface TlsOptions {
  /** The authorities to trust in place of the system's. */
  readonly ca?: string | Uint8Array | null | undefined
  /** The certificate to show the server; with {@link key}. */
  readonly cert?: string | Uint8Array | null | undefined
  /** The key of that certificate. */
  readonly key?: string | Uint8Array | null | undefined
  /** False takes any certificate for the server's own; warned of. @defaultValue true */
  readonly rejectUnauthorized?: boolean | null | undefined
}

/** A store, and the listeners to its events. */
export interface Made {
  readonly store: Store
  readonly listeners: Listeners
}

const MEMORY = 'memory://'
const NO_URL = 'must be a string or a URL; without one, new Limiter() is in memory'

/** The store that the arguments of a constructor ask for; the engine checks all of them but the clock. */
export function storeOf(given: readonly unknown[]): Made {
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
  const listeners = new Listeners()
  const handle = answered(native.makeLimiter(replyQueue(), listeners.number, address, names, values))
  const shared = address !== MEMORY
  return { store: { handle, shared, clock, plain: !shared && clock === undefined }, listeners }
}

/** Options by their names, each read once; those of `tls` by names of their own. */
function fieldsOf(given: unknown, what = 'options', prefix = ''): Map<string, unknown> {
  const fields = new Map<string, unknown>()
  if (given === undefined || given === null) return fields
  if (typeof given !== 'object') throw wrongType('', what, 'must be an object', given)
  for (const name of ownKeys(given, what, '')) {
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
