/* The rooms of a module: that of its own limits, and those of what `@RateLimit()` stands on. */

import { type ExecutionContext, Inject, Injectable } from '@nestjs/common'
import { Reflector } from '@nestjs/core'
import { outOfRange, wrongType } from '../errors.js'
import { nameOf as nameInExpress } from '../express/mounts.js'
import { nameOf as nameInFastify } from '../fastify/hooks.js'
import type { Gate } from '../http/gate.js'
import { functionOption } from '../room/options.js'
import { type Framework, Room } from '../room/room.js'
import { clientIn, isGoneIn, isInnerField } from './contexts.js'
import { LIMITS, OPTIONS, type PlatformRequest, type RateLimitOptions, type RouteLimits } from './module-options.js'

const framework: Framework<PlatformRequest> = {
  kind: 'nestjs',
  options: ['global', 'adds', 'getRequest'],
  statusOf: (_request: PlatformRequest, response: PlatformRequest) => response.statusCode,
  client: clientIn,
  isGone: isGoneIn,
}

export type TargetRoom = Room<PlatformRequest>

/** The limits that hold for a handler. */
interface Target {
  readonly room: TargetRoom | undefined
  /** They stand on the handler itself. */
  readonly isOwn: boolean
}

type Marked = false | RouteLimits | undefined

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
  /** By handlers and their classes, because a class may inherit a handler. */
  readonly #targets = new WeakMap<object, WeakMap<object, Target>>()

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
    const classes = this.#targets.get(context.getHandler())
    const { room, isOwn } = classes?.get(context.getClass()) ?? this.#made(context)
    // An inner field of GraphQL is limited by limits of its own alone.
    return !isOwn && context.getType<string>() === 'graphql' && isInnerField(context) ? undefined : room
  }

  /** Reads the metadata of decorators, once. Limits that a handler adds go beside those that it would have otherwise. */
  #made(context: ExecutionContext): Target {
    const [handler, controller] = [context.getHandler(), context.getClass()]
    const own = this.#reflector.get<Marked>(LIMITS, handler)
    const below = this.#reflector.get<Marked>(LIMITS, controller)
    let room = own === undefined && below === undefined && this.#global ? this.base : undefined
    if (own) {
      const to = below && own.adds ? this.#ofClass(controller, below) : this.base
      room = this.#make(handlerNames(context), own, to, below !== false)
    } else if (own === undefined && below) room = this.#ofClass(controller, below)
    const target = { room, isOwn: own !== undefined }
    const classes = this.#targets.get(handler) ?? new WeakMap<object, Target>()
    this.#targets.set(handler, classes.set(controller, target))
    return target
  }

  /** The limits of a class are one room for all of its handlers. */
  #ofClass({ name }: { readonly name: string }, limits: RouteLimits): TargetRoom {
    const known = this.#ofClasses.get(limits) ?? new Map<string, TargetRoom>()
    const target = known.get(name) ?? this.#make({ name }, limits, this.base)
    this.#ofClasses.set(limits, known.set(name, target))
    return target
  }

  #make(names: Names, { adds = false, ...options }: RouteLimits, to: TargetRoom, hasBase = true): TargetRoom {
    if (typeof adds !== 'boolean') throw wrongType('', 'adds', 'must be a boolean', adds)
    return to.extend(options, { adds: adds && hasBase && options.limits !== undefined, framework: names })
  }
}

Injectable()(Rooms)
Inject(OPTIONS)(Rooms, undefined, 0)

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
