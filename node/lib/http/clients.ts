import { answered, knownOptions, wrongType } from '../errors.js'
import { native } from '../native/native.js'

/** The options of {@link clientOf}. */
export interface ClientOptions {
  /** The bits of an IPv6 address that make one client. @defaultValue 64 */
  readonly ipv6Prefix?: number | undefined
}

/**
 * The actor that stands for a client's address: the address marked with `ip:`, of IPv6 its network.
 *
 * Limits without a key count under it, so it is the actor to pass where a client is limited, reset or looked at by hand.
 * A port or a zone does not count.
 *
 * @example
 * ```ts
 * import { clientOf } from 'tidegate'
 *
 * clientOf('203.0.113.9') // 'ip:203.0.113.9'
 * clientOf('2001:db8:1:2::7') // 'ip:2001:db8:1:2::/64'
 * ```
 *
 * @throws {@link LimitError} for a string that is no address.
 */
export function clientOf(address: string, options: ClientOptions = {}): string {
  if (typeof address !== 'string') throw wrongType('', 'address', 'must be a string', address)
  const { ipv6Prefix = 64 } = knownOptions(options, ['ipv6Prefix'], 'clientOf', 'options')
  return answered(native.clientOf(address, ipv6Prefix))
}

/** The actor that stands for a key, which a client may have chosen: one that looks like an address is marked `key:`. */
export function keyOf(key: string): string {
  return key.startsWith('ip:') || key.startsWith('key:') ? native.keyOf(key) : key
}
