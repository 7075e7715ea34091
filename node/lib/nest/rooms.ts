/* The rooms of a module: that of its own limits, and those of what `@RateLimit()` stands on. */

import type { ExecutionContext } from '@nestjs/common'
import { Reflector } from '@nestjs/core'
import { outOfRange, wrongType } from '../errors.js'
import { nameOf as nameInExpress } from '../express/mounts.js'
import { nameOf as nameInFastify } from '../fastify/hooks.js'
import type { Gate } from '../http/gate.js'
import { functionOption } from '../room/options.js'
import { type Framework, Room } from '../room/room.js'
import { clientIn, isGoneIn, isInnerField } from './contexts.js'
import { LIMITS, type PlatformRequest, type RateLimitOptions, type RouteLimits } from './module-options.js'

const framework: Framework<PlatformRequest> = {
  kind: 'nestjs',
  options: ['global', 'adds', 'getRequest'],
  statusOf: (_request: PlatformRequest, response: PlatformRequest) => response.statusCode,
  client: clientIn,
  isGone: isGoneIn,
}

/** The room of a target: of the module, a class or a handler. */
export type TargetRoom = Room<PlatformRequest>

/** The limits that stand on a handler, or on its class. */
interface Marked {
  readonly limits: false | RouteLimits | undefined
  readonly onHandler: boolean
  /** Those of the class alone. */
  readonly below: false | RouteLimits | undefined
  /** The room of those on the handler. */
  room?: TargetRoom
}

type Handler = ReturnType<ExecutionContext['getHandler']>
type Class = ReturnType<ExecutionContext['getClass']>

/** The rooms of a module. Nest makes a guard for each module that names its class; all of them have the same rooms. */
export class Rooms {
  readonly #reflector = new Reflector()
  readonly base: TargetRoom
  readonly #global: boolean
  readonly getRequest: RateLimitOptions['getRequest']
  /** The contexts of fields and messages that are decided, where two guards ask. */
  readonly decided = new WeakSet<ExecutionContext>()
  /** The rooms of `@RateLimit()` on classes, by its options and the name of the class. */
  readonly #ofClasses = new WeakMap<object, Map<string, TargetRoom>>()
  /** The limits of handlers by their classes, because a class may inherit a handler. */
  readonly #marked = new WeakMap<object, WeakMap<object, Marked>>()

  constructor(options: RateLimitOptions) {
    const { global = true, body } = (options ?? {}) as RateLimitOptions & { body?: unknown }
    if (typeof global !== 'boolean') throw wrongType('', 'global', 'must be a boolean', global)
    if (body !== undefined) throw outOfRange('', 'body', 'must be left to an exception filter', body)
    this.#global = global
    this.base = new Room(options, framework)
    this.getRequest = functionOption(this.base.options, 'getRequest')
  }

  /** The limits of a handler; nothing where it has none. */
  targetOf(context: ExecutionContext): TargetRoom | undefined {
    const handler = context.getHandler()
    const controller = context.getClass()
    const marked = this.#markedOn(handler, controller)
    const { limits, onHandler } = marked
    if (limits === false) return undefined
    // An inner field of GraphQL is limited by limits of its own alone.
    if (!onHandler && context.getType<string>() === 'graphql' && isInnerField(context)) return undefined
    if (limits === undefined) return this.#global ? this.base : undefined
    if (!onHandler) return this.#ofClass(controller, limits)
    marked.room ??= this.#ofHandler(context, limits, marked.below)
    return marked.room
  }

  /** The limits of a class are one room for all of its handlers. */
  #ofClass({ name }: Class, limits: RouteLimits): TargetRoom {
    const known = this.#ofClasses.get(limits) ?? new Map<string, TargetRoom>()
    const target = known.get(name) ?? this.#make({ name }, limits, this.base)
    this.#ofClasses.set(limits, known.set(name, target))
    return target
  }

  /** The room of a handler; limits that it adds go beside those that it would have otherwise. */
  #ofHandler(context: ExecutionContext, limits: RouteLimits, below: Marked['below']): TargetRoom {
    const controller = context.getClass()
    const room = below && limits.adds ? this.#ofClass(controller, below) : this.base
    return this.#make(handlerNames(context), limits, room, below !== false)
  }

  /** The metadata of decorators, which is read once. */
  #markedOn(handler: Handler, controller: Class): Marked {
    const classes = this.#marked.get(handler) ?? new WeakMap<object, Marked>()
    const known = classes.get(controller)
    if (known !== undefined) return known
    const own = this.#reflector.get<Marked['limits']>(LIMITS, handler)
    const below = this.#reflector.get<Marked['limits']>(LIMITS, controller)
    const marked: Marked = { limits: own ?? below, onHandler: own !== undefined, below }
    this.#marked.set(handler, classes.set(controller, marked))
    return marked
  }

  #make(names: Names, { adds = false, ...options }: RouteLimits, to: TargetRoom, hasBase = true): TargetRoom {
    if (typeof adds !== 'boolean') throw wrongType('', 'adds', 'must be a boolean', adds)
    return to.extend(options, { adds: adds && hasBase && options.limits !== undefined, framework: names })
  }
}

type Names = Pick<Framework<PlatformRequest>, 'name' | 'nameOf'>

/** The keys of a handler's limits as text: its route, as the platform has it; where there is none, its class and itself. */
function handlerNames(context: ExecutionContext): Names {
  const name = `${context.getClass().name}.${context.getHandler().name}`
  if (context.getType() !== 'http') return { name }
  const nameOf = (request: PlatformRequest, gate?: Gate): string => {
    if (request.routeOptions !== undefined) return nameInFastify(request.routeOptions, request.server)
    return request.route === undefined ? name : nameInExpress(request, gate)
  }
  return { name, nameOf }
}
