import { answered, wrongType } from '../errors.js'
import { native } from '../native/native.js'
import type { Store } from './info.js'

/** The actors that a limiter denied and charged most. */
export interface Top {
  /** By calls that were denied. A call that several limits of an actor denied counts once. */
  readonly denied: readonly TopActor[]
  /** By the units of admitted calls, in all limits together. What was given back later is not subtracted. */
  readonly charged: readonly TopActor[]
}

/** An actor among those that a limiter denied or charged most. */
export interface TopActor {
  /** The actor. Of one longer than 200 bytes the beginning and a hash. */
  readonly actor: string
  /** Its calls or units, or more. */
  readonly count: number
  /** The most by which `count` is too high; 0 where it is exact. */
  readonly error: number
}

/** The top actors of the limiter with this store. */
export function topOf(store: Store, count: unknown): Top {
  if (typeof count !== 'number' && count !== undefined) throw wrongType('', 'count', 'must be a number', count)
  return answered(native.top(store.handle, count))
}
