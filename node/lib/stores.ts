import { answered, ownKeys, read, wrongType } from './errors.js'
import { Listeners } from './events.js'
import type { Store } from './info.js'
import { mailbox } from './mailbox.js'
import { native } from './native.js'

/** How a limiter keeps its entries. */
export interface LimiterOptions {
  /** How many entries are kept at most; at least 1. @defaultValue 1_000_000 */
  readonly maxEntries?: number | undefined
  /** Keeps this limiter's entries apart from all others in the same store. @defaultValue 'tidegate' */
  readonly namespace?: string | undefined
}

/**
 * What a call is answered when the store cannot decide it:
 *
 * - `local`: this process alone enforces the limit, in memory and at its full size, until the store is back
 * - `allow`: every call is admitted
 * - `deny`: every call is denied, for a second
 * - `raise`: the call rejects with a `StoreError`
 */
export type OnError = 'local' | 'allow' | 'deny' | 'raise'

/** How a limiter uses a store that others share. */
export interface SharedLimiterOptions {
  /** What the names of all keys in the store begin with. @defaultValue 'tidegate' */
  readonly namespace?: string | undefined
  /** The longest time in milliseconds that a decision may take, connecting included; from 1. @defaultValue 100 */
  readonly timeoutMs?: number | undefined
  /** What a call is answered when the store cannot decide it. @defaultValue 'local' */
  readonly onError?: OnError | undefined
  /** How many entries this process keeps at most while the store cannot decide. @defaultValue 1_000_000 */
  readonly maxEntries?: number | undefined
  /**
   * How many milliseconds this process remembers at most that a call was denied, and denies it again without asking;
   * never longer than the denial itself said. 0 asks every time. @defaultValue 1000
   */
  readonly denyCacheMs?: number | undefined
  /**
   * How many replicas have to have a charge before its call is answered; where too few acknowledge it in time, the
   * charge stays on the primary and the call is answered as {@link onError} says. 0 waits for none. @defaultValue 0
   */
  readonly waitReplicas?: number | undefined
  /**
   * How the server is made to decide: by a script, in one round trip, or by transactions, for servers that run no
   * scripts; those take buckets alone. @defaultValue 'script'
   */
  readonly strategy?: 'script' | 'transactions' | undefined
  /**
   * What entries are on the server: one key of our own each, or the two keys of Sharkey's nodes, for buckets alone.
   * @defaultValue 'own'
   */
  readonly layout?: 'own' | 'sharkey' | undefined
  /** Certificates, where the URL asks for TLS. */
  readonly tls?: TlsOptions | undefined
}

/** Certificates in PEM form. */
export interface TlsOptions {
  /** The authorities to trust in place of the system's. */
  readonly ca?: string | Uint8Array | undefined
  /** The certificate to show the server; with {@link key}. */
  readonly cert?: string | Uint8Array | undefined
  /** The key of that certificate. */
  readonly key?: string | Uint8Array | undefined
}

/** A store, and who wants to be told what happens to it. */
export interface Made {
  readonly store: Store
  readonly listeners: Listeners
}

/** The store at this URL, with options that are still to be judged. */
export function storeAt(url: unknown, options: unknown): Made {
  return url === undefined || url === 'memory://' ? inMemory(options) : shared(url, options)
}

function inMemory(given: unknown): Made {
  const { maxEntries, namespace } = fieldsOf(given, 'options', ['maxEntries', 'namespace'], 'of the memory store')
  const [most, listeners] = [number('maxEntries', maxEntries), new Listeners()]
  const handle = answered(native.makeLimiter(mailbox(), listeners.number, most, namespace))
  return { store: { handle, shared: false }, listeners }
}

const NAMES = [
  'namespace',
  'timeoutMs',
  'onError',
  'maxEntries',
  'denyCacheMs',
  'waitReplicas',
  'strategy',
  'layout',
  'tls',
] as const

function shared(url: unknown, given: unknown): Made {
  const options = fieldsOf(given, 'options', NAMES, 'of a limiter')
  const { namespace, onError, strategy, layout } = options
  const timeoutMs = number('timeoutMs', options.timeoutMs)
  const maxEntries = number('maxEntries', options.maxEntries)
  const denyCacheMs = number('denyCacheMs', options.denyCacheMs)
  const waitReplicas = number('waitReplicas', options.waitReplicas)
  const listeners = new Listeners()
  const own = { namespace, timeoutMs, onError, maxEntries, denyCacheMs, waitReplicas, strategy, layout }
  const settings = { ...own, ...certificates(options.tls) }
  const address = url instanceof URL ? url.href : url
  const handle = answered(native.makeShared(mailbox(), listeners.number, address, settings))
  return { store: { handle, shared: true }, listeners }
}

function certificates(given: unknown) {
  const tls = fieldsOf(given, 'tls', ['ca', 'cert', 'key'], 'of tls')
  const [ca, cert, key] = [pem('ca', tls.ca), pem('cert', tls.cert), pem('key', tls.key)]
  if (cert && !key) throw wrongType('', 'tls.key', 'must be given with tls.cert', undefined)
  if (key && !cert) throw wrongType('', 'tls.cert', 'must be given with tls.key', undefined)
  return { ca, cert, key }
}

/** Known fields of an object, each read once. */
function fieldsOf<Name extends string>(
  given: unknown,
  what: string,
  names: readonly Name[],
  of: string,
): Partial<Record<Name, unknown>> {
  const fields: Partial<Record<Name, unknown>> = {}
  if (given === undefined) return fields
  if (typeof given !== 'object' || given === null) throw wrongType('', what, 'must be an object', given)
  for (const name of ownKeys(given, what, '')) {
    const value = read(given, name, '')
    if (!names.includes(name as Name)) throw wrongType('', name, `is not an option ${of}`, value)
    if (value !== null) fields[name as Name] = value
  }
  return fields
}

function number(name: string, value: unknown): number | undefined {
  if (value === undefined || typeof value === 'number') return value
  throw wrongType('', name, 'must be a number', value)
}

function pem(name: string, value: unknown): Uint8Array | undefined {
  if (value === undefined || value instanceof Uint8Array) return value
  if (typeof value === 'string') return Buffer.from(value)
  throw wrongType('', `tls.${name}`, 'must be a string or a Buffer', value)
}
