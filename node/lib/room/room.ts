/* One decision for each request, for the rooms of all frameworks. */

import { ConfigurationError, LimitError, outOfRange, StoreError, wrongType } from '../errors.js'
import { combine, Gate, type Lines, type Refusal } from '../http/gate.js'
import type { Limiter } from '../limiter/limiter.js'
import type { Check } from '../limiter/parts.js'
import { compiled, type Limit } from '../limits/definition-cache.js'
import { type ChosenLimits, chosenLimits } from '../limits/documents.js'
import type { MistakeCode } from '../native/names.js'
import { type NativeTrialCounts, native } from '../native/native.js'
import { LimitInfo } from '../results/info.js'
import { after, all, attempt, type Later, same } from '../time/later.js'
import { areJudged, chargedOf, noteJudges } from './charges.js'
import { isHeard, tellDenied } from './denials.js'
import { tellOfLimiter } from './diagnostics.js'
import { chargeOption, functionOption, gateOptions, isShared, limiterOption, roomOptions } from './options.js'
import { beginHold, endCharge, isHeld, planOf, type Trials, trialsOf } from './plan.js'
import {
  aborted,
  actorText,
  asked,
  estimated,
  isAborted,
  ofChosenCost,
  ofRequest,
  RequestError,
} from './request-error.js'
import { APP, Place } from './route-names.js'
import {
  type Actor,
  checkOf,
  type DocumentRules,
  type LimitsOfRequest,
  needsName,
  plainOf,
  proven,
  type ReadyRule,
  type Rules,
  rulesOf,
  rulesOfDocument,
  type Settings,
  settingsOf,
  triedCheckOf,
} from './rules.js'
import { isOff } from './switch.js'

/** More names than an app has places; they are not the client's, but nothing grows for ever. */
const MOST_NAMES = 10_000
const SAME_NAME = 'must be given: the limits that these are added to have the same key'
/** The answer where a store could not decide limits in shadow mode. */
const NO_LIMIT = new LimitInfo()
const MISSING = 'must be given: a definition, a limit as text, a list of them, a document, or a function of the request'

const NO_SETTINGS = { key: undefined, cost: 1, factor: 1, shadow: false, chargeOn: undefined }
const NONE: readonly never[] = []

const called = <T>(call: () => T): T => call()

/** The rooms that have decided a request. */
type Deciders = readonly Pick<Room<never>, 'isAddedTo'>[]

/** The part of a room that knows its framework. */
export interface Framework<Request> {
  /** Names of options beside those of every room. */
  readonly options: readonly string[]
  /** Its name, for events. */
  readonly kind: string
  /** The key of limits that are given as text without a name, where requests say none. @defaultValue 'app' */
  readonly name?: string | undefined
  /** The client's address, as the gate of the room says it. */
  client(request: Request, gate: Gate): string
  /** The status of a response, by what the option `chargeOn` is called with. */
  statusOf(...outcome: never[]): number
  /** True for a request whose client has closed the connection, which has no address then. */
  isGone(request: Request): boolean
  /** The key of limits that are given as text without a name: the place that a request is at. The gate is told of mistakes. */
  nameOf?(request: Request, gate?: Gate): string
}

/** The way in which a room comes from another. */
export interface Extension<Request> {
  /** Its limits are added to the other's. */
  readonly adds?: boolean
  /** Its place, where that has other rooms, too. */
  readonly place?: Place
  /** The parts of its framework that are other ones. */
  readonly framework?: Partial<Framework<Request>>
}

/** Decides requests of a framework; immutable but for its counts. */
export class Room<Request> {
  readonly limiter: Limiter
  /** The engine's gate, which knows addresses, headers and refusals. */
  readonly gate: Gate
  /** The options as they were given. */
  readonly options: Readonly<Record<string, unknown>>
  /** The room to whose limits these are added, if any. */
  readonly base: Room<Request> | undefined
  readonly #framework: Framework<Request>
  readonly #settings: Settings<Request>
  readonly #skip: ((request: Request) => Later<boolean>) | undefined
  /** The rules of this room alone for a request, to which others may be added. */
  readonly #own: (request: Request, isBase: boolean) => Later<Rules<Request>>
  /** The rules of a document that may change, as it was when a request came last. */
  #current: DocumentRules<Request> | undefined
  readonly #name: string | undefined
  /** Rules by the names that their texts have. */
  readonly #fixed = new Map<string, Rules<Request>>()
  /** The names that were derived here. */
  readonly #claimed = new Set<string>()
  readonly #place: Place
  /** The limits of every request, where each actor has them at cost 1 and nothing else is asked. */
  readonly #plain: Limit | Limit[] | undefined
  readonly #shared: boolean
  readonly #trials: NativeTrialCounts

  /** A room of these options; one that comes from another shares its limiter and counts, and may add to its limits. */
  constructor(given: unknown, framework: Framework<Request>, from?: Room<Request>, how: Extension<Request> = {}) {
    const options = roomOptions(given, framework.options)
    // One whose routes say theirs need not have any.
    const isEmpty = options.global === false && from === undefined
    if (options.limits === undefined && !isEmpty) throw wrongType('', 'limits', MISSING, undefined)
    this.options = options
    this.base = how.adds ? from : undefined
    this.#framework = framework
    this.limiter = from?.limiter ?? limiterOption(options.limiter)
    this.#shared = isShared(this.limiter)
    this.gate = new Gate(gateOptions(options, this.limiter))
    // One that is inherited stays the same function, so that it judges the limits of both at once.
    const isInherited = from !== undefined && options.chargeOn === from.options.chargeOn
    const chargeOn = isInherited ? from.#settings.chargeOn : chargeOption(options.chargeOn, framework.statusOf)
    this.#settings = settingsOf<Request>(options, '', { ...NO_SETTINGS, chargeOn })
    this.#skip = functionOption(options, 'skip')
    this.#trials = from === undefined ? native.makeTrialCounts() : from.#trials
    this.#name = options.name as string | undefined
    this.#place = how.place ?? new Place(this.limiter, this)
    const { limits = () => undefined } = options
    const document = chosenLimits(limits)
    if (document !== undefined) {
      proven(this.#ofDocument(document()))
      this.#own = () => this.#ofDocument(document())
    } else if (typeof limits === 'function') {
      const choose = limits as LimitsOfRequest<Request>
      this.#own = (request, isBase) => after(asked(choose, request), (given) => this.#chosen(given, request, isBase))
    } else if (this.#name === undefined && needsName(limits) && framework.nameOf !== undefined) {
      this.#compile(APP)
      this.#own = (request, isBase) => this.#named(this.#nameOf(request, isBase))
    } else {
      const rules = this.#named(this.#name ?? (needsName(limits) ? this.#claim(framework.name ?? APP) : ''))
      this.#plain = plainOf(rules, this.#settings)
      this.#own = () => rules
    }
    tellOfLimiter(this.gate, this.limiter, this.#shared)
  }

  /** A room of the same limiter for some of the requests: its options go before those of this one. */
  extend(given: unknown, how: Extension<Request>): Room<Request> {
    const own = roomOptions(given, this.#framework.options)
    if (own.limiter !== undefined) throw outOfRange('', 'limiter', 'must be the one of the room', 'another one')
    const { limiter: _, name: __, limits, candidate, ...kept } = this.options
    const inherited = how.adds || own.limits !== undefined ? {} : { limits, candidate }
    return new Room({ ...kept, ...inherited, ...own }, { ...this.#framework, ...how.framework }, this, how)
  }

  /** True if this room decides the limits of that one, too. */
  isAddedTo(room: object): boolean {
    return this.base !== undefined && (this.base === room || this.base.isAddedTo(room))
  }

  /** True if one of these rooms is this one, or is added to it and has decided for both. */
  isDecidedBy(decided: Deciders): boolean {
    return decided.some((room) => room === this || room.isAddedTo(this))
  }

  /**
   * Decides a request, in one round trip; nothing where it is not limited. The answer is no promise where nothing has
   * to be waited for. The limits of bases that have decided this request are left out.
   */
  decide(request: Request, decided: Deciders = NONE): Later<LimitInfo | undefined> {
    if (isOff()) return undefined
    const { base } = this
    const isAlone = base === undefined || base.isDecidedBy(decided)
    const info = isAlone ? this.#decideAlone(request) : this.#decideTogether(request, decided)
    if (!isHeard(this.limiter)) return info
    return after(info, (info) => {
      if (info?.blocked) this.#tellDenied(request, info.key, info.actor, false)
      return info
    })
  }

  /** True if a decision changes with the end of its request. */
  isOpen(info: LimitInfo): boolean {
    return this.#settings.chargeOn !== undefined || isHeld(info)
  }

  /** Ends a decision as the outcome says. */
  settle(info: LimitInfo, ...outcome: readonly unknown[]): void {
    after(chargedOf(info, this.#settings.chargeOn, outcome), (charged) => this.end(info, charged))
  }

  /**
   * Ends a decision with its request: units that it holds are released, and all else is given back but for what stays
   * charged. A failure is reported by the limiter's own events, and changes no response.
   */
  end(info: LimitInfo, charged: boolean | readonly number[]): void {
    if (!info.blocked && info !== NO_LIMIT) endCharge(this.limiter, info, charged)
  }

  /** The response to a request that cannot be decided because of itself; any other error is thrown. */
  rejection(error: unknown, accept?: Lines): Refusal {
    if (!(error instanceof RequestError)) throw error
    return this.gate.rejection(error.mistake, accept)
  }

  trials(): Trials {
    return trialsOf(this.#trials)
  }

  /** Tells the listeners of the limiter; a limit in shadow mode denies nothing, and is told all the same. */
  #tellDenied(request: Request, key: string, actor: string, shadow: boolean): void {
    const { kind, name, nameOf } = this.#framework
    tellDenied(this.limiter, { key, actor, shadow, framework: kind, route: nameOf?.(request) ?? name })
  }

  #decideAlone(request: Request): Later<LimitInfo | undefined> {
    if (this.#skip === undefined) return this.#decide(request)
    return after(asked(this.#skip, request), (isSkipped) => (isSkipped ? undefined : this.#decide(request)))
  }

  #decide(request: Request): Later<LimitInfo | undefined> {
    const plain = this.#plain
    if (plain === undefined) return after(this.#own(request, false), (rules) => this.#decideRules(request, rules))
    const { key } = this.#settings
    if (key === undefined) return this.#ask(plain, this.#client(request))
    return after(this.#actor(request, key), (actor) => this.#ask(plain, actor))
  }

  /** Decides with the rooms that this one is added to; each may skip the request for its own limits. */
  #decideTogether(request: Request, decided: Deciders): Later<LimitInfo | undefined> {
    const rules = (room: Room<Request>): Later<Rules<Request>> => room.#unlessSkipped(request, room !== this)
    return after(all(this.#undecided(decided), rules), (each) => this.#decideRules(request, each.flat()))
  }

  /** The rooms whose limits are still to be decided, the outermost first. */
  #undecided(decided: Deciders): readonly Room<Request>[] {
    const { base } = this
    return base === undefined || base.isDecidedBy(decided) ? [this] : [...base.#undecided(decided), this]
  }

  #unlessSkipped(request: Request, isBase: boolean): Later<Rules<Request>> {
    if (this.#skip === undefined) return this.#own(request, isBase)
    return after(asked(this.#skip, request), (isSkipped) => (isSkipped ? NONE : this.#own(request, isBase)))
  }

  /** The quick way: the same actor for all, at cost 1. */
  #ask(limits: Limit | Limit[], actor: string): Later<LimitInfo> {
    return this.#shared ? this.limiter.limit(limits, actor) : this.limiter.limitSync(limits, actor)
  }

  #nameOf(request: Request, isBase: boolean): string {
    const { nameOf, name = APP } = this.#framework
    // What others are added to stands before them, wherever they stand.
    const isHere = nameOf === undefined || (isBase && this.base === undefined)
    return this.#claim(isHere ? name : nameOf(request, this.gate))
  }

  /** The rules of a document, made anew when it has changed. */
  #ofDocument(chosen: ChosenLimits): Rules<Request> {
    if (this.#current?.document !== chosen.document) {
      this.#current = rulesOfDocument(chosen, this.#settings, this.options.candidate, this.#current)
    }
    return this.#current.rules
  }

  #chosen(given: unknown, request: Request, isBase: boolean): Rules<Request> {
    if (given === undefined || given === null || given === false) return []
    const name = this.#name ?? (needsName(given) ? this.#nameOf(request, isBase) : '')
    return rulesOf(given, name, this.#settings, this.options.candidate)
  }

  /** The rules of texts that have this key. */
  #named(name: string): Rules<Request> {
    const known = this.#fixed.get(name)
    if (known !== undefined) return known
    const rules = this.#compile(name)
    for (const { limit } of rules) {
      const both = this.#place.names.define(compiled(limit).handle)
      if (both !== null) this.gate.report('same-key-twice', both)
    }
    if (this.#fixed.size < MOST_NAMES) this.#fixed.set(name, rules)
    return rules
  }

  /** A key of texts that is derived; it is told where another place has it. */
  #claim(name: string): string {
    if (this.#claimed.has(name)) return name
    for (let { base } = this as Room<Request>; base !== undefined; base = base.base) {
      if (base.#claimed.has(name)) throw outOfRange('', 'name', SAME_NAME, name)
    }
    if (!this.#place.claims(name)) this.gate.report('same-name-twice', name)
    if (this.#claimed.size < MOST_NAMES) this.#claimed.add(name)
    return name
  }

  #compile(name: string): Rules<Request> {
    return proven(rulesOf(this.options.limits, name, this.#settings, this.options.candidate))
  }

  #actor(request: Request, key: Settings<Request>['key']): Later<string> {
    if (key === undefined) return this.#client(request)
    return after(asked(key, request), (actor) => this.#actorOf(request, actor))
  }

  #client(request: Request): string {
    try {
      return this.#framework.client(request, this.gate)
    } catch (error) {
      throw this.#framework.isGone(request) ? aborted(error) : error
    }
  }

  #actorOf(request: Request, actor: Actor): string {
    if (typeof actor === 'string' && actor !== '') return actorText(actor)
    // All that is no number would be one actor.
    if (Number.isFinite(actor)) return `${actor}`
    if (typeof actor === 'bigint') return actorText(`${actor}`)
    if (actor === undefined || actor === null || actor === '') return this.#client(request)
    throw ofRequest(wrongType('', 'key', 'must give a text or a number', actor))
  }

  #decideRules(request: Request, rules: Rules<Request>): Later<LimitInfo | undefined> {
    const checks = all(rules, (rule) => this.#check(request, rule))
    return after(checks, (checks) => {
      const kept = checks.filter((check) => check !== undefined)
      if (kept.length === checks.length) return this.#decideKept(request, rules, kept)
      const asked = rules.filter((_, place) => checks[place] !== undefined)
      return kept.length === 0 ? NO_LIMIT : this.#decideKept(request, asked, kept)
    })
  }

  #decideKept(request: Request, rules: Rules<Request>, checks: readonly Check[]): Later<LimitInfo | undefined> {
    const failed = (error: unknown): never => {
      throw ofChosenCost(rules, error)
    }
    return attempt(() => this.#decideChecks(request, rules, checks), failed, same)
  }

  /** The check of a rule; nothing for one in shadow mode that cannot be asked about this request. */
  #check(request: Request, rule: ReadyRule<Request>): Later<Check | undefined> {
    const { cost, factor } = rule
    const settings: readonly (() => unknown)[] = [
      () => this.#actor(request, rule.key),
      () => (typeof cost === 'function' ? estimated(cost, request, this) : cost),
      () => (typeof factor === 'function' ? asked(factor, request) : factor),
    ]
    const check = rule.shadow ? triedCheckOf : checkOf
    const made = ([actor, cost, factor]: readonly unknown[]) => check(rule, actor as string, cost, factor)
    const failed = (error: unknown): undefined => this.#leaveOut(error)
    return rule.shadow ? attempt(() => all(settings, called), failed, made) : after(all(settings, called), made)
  }

  /** Leaves out what a request is only tried with; errors of the program's functions stay. */
  #leaveOut(error: unknown): undefined {
    if (error instanceof ConfigurationError) this.gate.report(error.mistake as MistakeCode)
    else if (!(error instanceof RequestError || isAborted(error))) throw error
  }

  /** Decides: all enforced limits are one decision, and those on trial are decided beside it in the same call. */
  #decideChecks(request: Request, rules: Rules<Request>, checks: readonly Check[]): Later<LimitInfo | undefined> {
    if (!rules.some(({ isPlanned }) => isPlanned) && !areJudged(rules)) {
      return checks.length === 0 ? undefined : this.#askAll(checks.length === 1 ? checks : combine(checks))
    }
    const plan = planOf(rules, checks)
    const made = (info: LimitInfo): LimitInfo => {
      for (const { place, key } of plan.native.count(LimitInfo.denials(info), this.#trials)) {
        if (isHeard(this.limiter)) this.#tellDenied(request, key, (checks[place] as Check).actor, true)
      }
      if (info !== NO_LIMIT) {
        beginHold(this.limiter, info, plan)
        noteJudges(info, plan.native, rules)
      }
      return info
    }
    // Where nothing is enforced, what fails fails no request: the answer is that nothing is limited.
    const failed = (error: unknown): LimitInfo => {
      const isDecision = error instanceof StoreError || error instanceof LimitError
      if (plan.native.enforces() || !isDecision) throw error
      return NO_LIMIT
    }
    if (plan.checks.length === 0) return made(NO_LIMIT)
    return attempt(() => this.#askAll(plan.checks), failed, made)
  }

  #askAll(checks: readonly Check[]): Later<LimitInfo> {
    return this.#shared ? this.limiter.limitAll(checks) : this.limiter.limitAllSync(checks)
  }
}
