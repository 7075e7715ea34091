/* One decision for each request, for the rooms of all frameworks. */

import { outOfRange, StoreError, wrongType } from '../errors.js'
import { combine, Gate, type Lines, type Refusal } from '../http/gate.js'
import type { Limiter } from '../limiter/limiter.js'
import type { Check } from '../limiter/parts.js'
import type { Limit } from '../limits/definition-cache.js'
import { type ChosenLimits, chosenLimits, type Document } from '../limits/documents.js'
import type { Trial } from '../native/native.js'
import { LimitInfo } from '../results/info.js'
import { after, all, attempt, type Later, same } from '../time/later.js'
import { isHeard, tellDenied } from './denials.js'
import { limiterPerRequest, memoryManyWorkers, sameKeyTwice, storeUnreachable } from './diagnostics.js'
import type { Extension, Framework, Gates } from './framework.js'
import { aborted } from './gone.js'
import { Holds } from './holds.js'
import {
  countsAlone,
  functionOption,
  gateOptions,
  isShared,
  limiterOption,
  nameOption,
  roomOptions,
  scopeOf,
} from './options.js'
import { chargeOption, type Outcome } from './outcome.js'
import { planOf } from './plan.js'
import { proven } from './proven.js'
import { actorText, asked, estimated, hasChosenCost, ofRequest, RequestError } from './request-error.js'
import { APP, Place } from './route-names.js'
import {
  type Actor,
  checkOf,
  type LimitsOfRequest,
  needsName,
  present,
  type ReadyRule,
  type RoomLimits,
  rulesOf,
  rulesOfDocument,
  type Settings,
  settingsOf,
  withCandidate,
} from './rules.js'
import { isOff } from './switch.js'
import { TrialCounts, type Trials } from './trials.js'

/** Rules that hold for every request of a name. */
interface Fixed<Request> {
  readonly rules: readonly ReadyRule<Request>[]
  /** The limits, where all of them are decided for the same actor at cost 1 and nothing else is asked. */
  readonly plain: Limit | Limit[] | undefined
}

/** More names than an app has places; they are not the client's, but nothing grows for ever. */
const MOST_NAMES = 10_000
const SAME_NAME = 'must be given: the limits that these are added to have the same key'
/** The answer where a store could not decide limits in shadow mode. */
const NO_LIMIT = new LimitInfo()
const MISSING = 'must be given: a definition, a limit as text, a list of them, a document, or a function of the request'

const NONE: readonly never[] = []

/** True for a rule that only a plan says the meaning of: it is tried, or it holds units. */
const isPlanned = <Request>({ shadow, candidate, holds }: ReadyRule<Request>): boolean =>
  shadow || holds || candidate !== undefined

/** Decides requests of a framework; immutable but for its counts. */
export class Room<Request> implements Gates {
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
  readonly #choose: LimitsOfRequest<Request> | undefined
  readonly #limits: unknown
  /** The limits of a document, which may change. */
  readonly #document: (() => ChosenLimits) | undefined
  /** Their rules, as the document was when a request came last. */
  #current: { readonly document: Document; readonly rules: readonly ReadyRule<Request>[] } | undefined
  readonly #name: string | undefined
  /** Rules by the names that their texts have; one, under an empty name, where no name is needed. */
  readonly #fixed = new Map<string, Fixed<Request>>()
  /** The names that were derived here. */
  readonly #claimed = new Set<string>()
  readonly #place: Place
  /** The rules of every request, where neither a function nor a place is asked. */
  readonly #always: Fixed<Request> | undefined
  /** The limits of every request, where each client has them at cost 1 and nothing else is asked. */
  readonly #quick: Limit | Limit[] | undefined
  readonly #shared: boolean
  readonly #holds: Holds
  readonly #trials: TrialCounts
  readonly #chargeOn: ReturnType<typeof chargeOption>
  #trusting: Gate | undefined

  /** A room of these options; one that comes from another shares its limiter and counts, and may add to its limits. */
  constructor(
    given: unknown,
    framework: Framework<Request>,
    from?: Room<Request>,
    { adds, place }: Extension<Request> = {},
  ) {
    const options = roomOptions(given, framework.options)
    // One whose routes say theirs need not have any.
    const isEmpty = options.global === false && from === undefined
    if (options.limits === undefined && !isEmpty) throw wrongType('', 'limits', MISSING, undefined)
    this.options = options
    this.base = adds ? from : undefined
    this.#framework = framework
    this.limiter = from?.limiter ?? limiterOption(options.limiter)
    this.#shared = isShared(this.limiter)
    this.#holds = new Holds(this.limiter)
    this.gate = new Gate(gateOptions(options, scopeOf(this.limiter, this.#shared)))
    this.#settings = { key: undefined, cost: 1, factor: 1, shadow: false, ...present(settingsOf<Request>(options, '')) }
    this.#skip = functionOption(options, 'skip')
    this.#chargeOn = chargeOption(options.chargeOn, framework.statusOf)
    this.#trials = from === undefined ? new TrialCounts() : from.#trials
    this.#limits = options.limits ?? (() => undefined)
    this.#name = nameOption(options.name)
    this.#place = place ?? new Place(this.limiter)
    if (place === undefined) this.#place.endsWith(this)
    this.#document = chosenLimits(this.#limits)
    if (this.#document !== undefined) {
      proven(this.#ofDocument(this.#document()))
    } else if (typeof this.#limits === 'function') {
      this.#choose = this.#limits as LimitsOfRequest<Request>
    } else {
      const named = this.#name !== undefined || !needsName(this.#limits)
      const placed = !named && framework.nameOf !== undefined
      if (placed) this.#compile(APP)
      else this.#always = this.#fix(this.#name ?? (named ? '' : this.#claim(this.#baseName)))
    }
    const asksMore = this.#skip !== undefined || this.#settings.key !== undefined || adds === true
    this.#quick = asksMore ? undefined : this.#always?.plain
    this.#tellMistakes()
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
  isAddedTo(room: Room<Request>): boolean {
    return this.base !== undefined && (this.base === room || this.base.isAddedTo(room))
  }

  /**
   * Decides a request, in one round trip; nothing where it is not limited. The answer is no promise where nothing has
   * to be waited for. The limits of bases that have decided this request are left out.
   */
  decide(request: Request, decided: readonly Room<Request>[] = NONE): Later<LimitInfo | undefined> {
    if (isOff()) return undefined
    const info =
      this.#quick === undefined ? this.#unless(request, decided) : this.#ask(this.#quick, this.#client(request))
    if (!isHeard(this.limiter)) return info
    return after(info, (info) => {
      if (info?.blocked) this.#tellDenied(request, info.key, info.actor, false)
      return info
    })
  }

  /** The gate for an app whose framework trusts every proxy: it tells of that, and trusts one. */
  get trusting(): Gate {
    this.#trusting ??= new Gate({
      ...gateOptions(this.options, scopeOf(this.limiter, this.#shared)),
      trustedProxies: true,
    })
    return this.#trusting
  }

  /** True if a decision holds units until {@link end}. */
  holds(info: LimitInfo): boolean {
    return this.#holds.has(info)
  }

  /** True if a decision changes with the end of its request. */
  isOpen(info: LimitInfo): boolean {
    return this.#chargeOn !== undefined || this.#holds.has(info)
  }

  /** Ends a decision as the outcome says. If that cannot be determined, the charge stays, with a warning. */
  settle(info: LimitInfo, ...outcome: readonly unknown[]): void {
    const chargeOn = this.#chargeOn
    const failed = (error: unknown): void => {
      this.end(info, true)
      process.emitWarning(error instanceof Error ? error : String(error))
    }
    attempt(
      () => chargeOn === undefined || chargeOn(...(outcome as Outcome)),
      failed,
      (isCharged) => this.end(info, isCharged),
    )
  }

  /**
   * Ends a decision with its request: units that it holds are released, and where the request is not charged, all else is
   * given back. A failure is reported by the limiter's own events, and changes no response.
   */
  end(info: LimitInfo, isCharged: boolean): void {
    if (!info.blocked && info !== NO_LIMIT) this.#holds.end(info, isCharged)
  }

  /** The response to a request that cannot be decided because of itself; any other error is thrown. */
  rejection(error: unknown, accept?: Lines): Refusal {
    if (!(error instanceof RequestError)) throw error
    return this.gate.rejection(error.mistake, accept)
  }

  /** The counts of limits in shadow mode and of candidates. */
  trials(): Trials {
    return this.#trials.read()
  }

  /** Tells the listeners of the limiter; a limit in shadow mode denies nothing, and is told all the same. */
  #tellDenied(request: Request, key: string, actor: string, shadow: boolean): void {
    const { kind, name, nameOf } = this.#framework
    tellDenied(this.limiter, { key, actor, shadow, framework: kind, route: nameOf?.(request) ?? name })
  }

  #unless(request: Request, decided: readonly Room<Request>[]): Later<LimitInfo | undefined> {
    if (this.#skip === undefined) return this.#decide(request, decided)
    return after(asked(this.#skip, request), (skipped) => (skipped ? undefined : this.#decide(request, decided)))
  }

  #decide(request: Request, decided: readonly Room<Request>[]): Later<LimitInfo | undefined> {
    const fixed = this.#always
    if (fixed?.plain !== undefined && (this.base === undefined || decided.includes(this.base))) {
      const { plain } = fixed
      return after(this.#actor(request, this.#settings.key), (actor) => this.#ask(plain, actor))
    }
    return after(this.#rules(request, decided), (rules) => this.#decideRules(request, rules))
  }

  /** The quick way: the same actor for all, at cost 1. */
  #ask(limits: Limit | Limit[], actor: string): Later<LimitInfo> {
    return this.#shared ? this.limiter.limit(limits, actor) : this.limiter.limitSync(limits, actor)
  }

  #rules(request: Request, decided: readonly Room<Request>[], isBase = false): Later<readonly ReadyRule<Request>[]> {
    const mine = this.#own(request, isBase)
    if (this.base === undefined || decided.includes(this.base)) return mine
    return after(all([this.base.#rules(request, decided, true), mine]), (each) => each.flat())
  }

  #own(request: Request, isBase: boolean): Later<readonly ReadyRule<Request>[]> {
    if (this.#always !== undefined) return this.#always.rules
    if (this.#document !== undefined) return this.#ofDocument(this.#document())
    const { nameOf } = this.#framework
    // What others are added to stands before them, wherever they stand.
    const name = (): string =>
      this.#claim(
        nameOf === undefined || (isBase && this.base === undefined) ? this.#baseName : nameOf(request, this.gate),
      )
    if (this.#choose === undefined) return this.#named(name()).rules
    return after(asked(this.#choose, request), (given) => this.#chosen(given, name))
  }

  /** The rules of a document, made anew when it has changed. */
  #ofDocument(chosen: ChosenLimits): readonly ReadyRule<Request>[] {
    if (this.#current?.document !== chosen.document) {
      const rules = rulesOfDocument(chosen, this.#settings, this.options.candidate)
      this.#current = { document: chosen.document, rules }
    }
    return this.#current.rules
  }

  #chosen(given: RoomLimits<Request> | null | undefined | false, nameOf: () => string): readonly ReadyRule<Request>[] {
    if (given === undefined || given === null || given === false) return []
    const name = this.#name ?? (needsName(given) ? nameOf() : '')
    return withCandidate(rulesOf(given, name, this.#settings), this.options.candidate)
  }

  /** The rules of texts that have this key. */
  #named(name: string): Fixed<Request> {
    const known = this.#fixed.get(name)
    if (known !== undefined) return known
    const fixed = this.#fix(name)
    if (this.#fixed.size < MOST_NAMES) this.#fixed.set(name, fixed)
    return fixed
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

  #compile(name: string): readonly ReadyRule<Request>[] {
    return proven(withCandidate(rulesOf(this.#limits, name, this.#settings), this.options.candidate))
  }

  #fix(name: string): Fixed<Request> {
    const rules = this.#compile(name)
    sameKeyTwice(this.gate, this.limiter, rules)
    const { key } = this.#settings
    const plain = rules.every((rule) => rule.key === key && rule.cost === 1 && rule.factor === 1 && !isPlanned(rule))
    const limits = rules.map((rule) => rule.limit)
    return { rules, plain: plain && limits.length > 0 ? (limits.length === 1 ? limits[0] : limits) : undefined }
  }

  get #baseName(): string {
    return this.#framework.name ?? APP
  }

  #actor(request: Request, key: Settings<Request>['key']): Later<string> {
    if (key === undefined) return this.#client(request)
    return after(asked(key, request), (actor) => this.#actorOf(request, actor))
  }

  #client(request: Request): string {
    try {
      return this.#framework.client(request, this)
    } catch (error) {
      throw this.#framework.isGone(request) ? aborted(error) : error
    }
  }

  #actorOf(request: Request, actor: Actor): string {
    if (typeof actor === 'string' && actor !== '') return actorText(actor)
    // All that is no number would be one actor.
    if (Number.isFinite(actor) || typeof actor === 'bigint') return `${actor}`
    if (actor === undefined || actor === null || actor === '') return this.#client(request)
    throw ofRequest(wrongType('', 'key', 'must give a text or a number', actor))
  }

  #decideRules(request: Request, rules: readonly ReadyRule<Request>[]): Later<LimitInfo | undefined> {
    const failed = (error: unknown): never => {
      throw hasChosenCost(rules, error) ? ofRequest(error) : error
    }
    const checks = all(rules.map((rule) => this.#check(request, rule)))
    return after(checks, (checks) => attempt(() => this.#decideChecks(request, rules, checks), failed, same))
  }

  #check(request: Request, rule: ReadyRule<Request>): Later<Check> {
    const { cost, factor } = rule
    const actor = this.#actor(request, rule.key)
    const costs = typeof cost === 'function' ? estimated(cost, request) : cost
    const scale = typeof factor === 'function' ? asked(factor, request) : factor
    return after(all<unknown>([actor, costs, scale]), ([actor, cost, factor]) => {
      return checkOf(rule, actor as string, cost as number, factor as number)
    })
  }

  /** Decides: all enforced limits are one decision, and those on trial are decided beside it in the same call. */
  #decideChecks(
    request: Request,
    rules: readonly ReadyRule<Request>[],
    checks: readonly Check[],
  ): Later<LimitInfo | undefined> {
    if (!rules.some(isPlanned)) {
      return checks.length === 0 ? undefined : this.#askAll(checks.length === 1 ? checks : combine(checks))
    }
    const plan = planOf(rules as readonly ReadyRule<never>[], checks)
    const made = (info: LimitInfo): LimitInfo => {
      this.#count(request, plan.native.trials(LimitInfo.denials(info)), checks)
      if (info !== NO_LIMIT) this.#holds.begin(info, plan)
      return info
    }
    // Where nothing is enforced, a store that fails fails no request: the answer is that nothing is limited.
    const failed = (error: unknown): LimitInfo => {
      if (plan.native.enforces() || !(error instanceof StoreError)) throw error
      return NO_LIMIT
    }
    if (plan.checks.length === 0) return made(NO_LIMIT)
    return attempt(() => this.#askAll(plan.checks), failed, made)
  }

  /** Counts what limits on trial would have done. */
  #count(request: Request, trials: readonly Trial[], checks: readonly Check[]): void {
    for (const { place, key, live, denied } of trials) {
      if (typeof live === 'boolean') {
        this.#trials.candidate(key, live, denied)
        continue
      }
      this.#trials.shadow(key, denied)
      if (denied && isHeard(this.limiter)) this.#tellDenied(request, key, (checks[place] as Check).actor, true)
    }
  }

  #askAll(checks: readonly Check[]): Later<LimitInfo> {
    return this.#shared ? this.limiter.limitAll(checks) : this.limiter.limitAllSync(checks)
  }

  #tellMistakes(): void {
    if (this.#shared) {
      storeUnreachable(this.gate, this.limiter)
    } else {
      if (countsAlone(this.limiter)) memoryManyWorkers(this.gate)
      limiterPerRequest(this.gate, this.limiter)
    }
  }
}
