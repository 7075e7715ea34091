/* The limits of a room, read once: definitions and texts become checked limits, each with its key, cost and factor. */

import { knownOptions, outOfRange, wrongType } from '../errors.js'
import { Limiter } from '../limiter/limiter.js'
import type { Check } from '../limiter/parts.js'
import { compiled, type Limit } from '../limits/definition-cache.js'
import type { Definition } from '../limits/definitions.js'
import type { ChosenLimits, Document, Found } from '../limits/documents.js'
import { limitFrom, parseLimits } from '../limits/read.js'
import { native } from '../native/native.js'
import type { Later } from '../time/later.js'
import { ofRequest } from './request-error.js'

/** An actor; a number is written in decimals, and a missing one stands for the client's address. */
export type Actor = string | number | bigint | null | undefined

/** The options of all limits of a room, and of a limit that has its own: those that it leaves out are the room's. */
export interface RuleOptions<Request> {
  /** The key of limits that are given as text. @defaultValue the route, the path of a mount, or `app` */
  readonly name?: string | undefined
  /**
   * The actor of a request: a user id, an API key. If it returns nothing, or an empty text, the client's address is the
   * actor.
   * @defaultValue the client's address
   */
  readonly key?: ((request: Request) => Later<Actor>) | undefined
  /** The units that a request costs. @defaultValue 1 */
  readonly cost?: number | ((request: Request) => Later<number>) | undefined
  /** Scales the limits for the request's actor: 0.5 = twice the allowance, 2 = half, 0 = no limit. @defaultValue 1 */
  readonly factor?: number | ((request: Request) => Later<number>) | undefined
  /**
   * Decides and counts, but never refuses and sends no headers. If all limits of a request are in shadow mode, its
   * answer is that nothing is limited.
   * @defaultValue false
   */
  readonly shadow?: boolean | undefined
  /** A definition that may replace the limit: decided beside it and counted, never enforced. */
  readonly candidate?: Definition | string | undefined
}

/** A limit of a room with settings of its own, in place of those of the room. */
export interface Rule<Request> extends RuleOptions<Request> {
  /** A definition, or a limit as text. */
  readonly limit: Definition | string
}

/** A definition, a limit as text (`'100/minute'`), or either with settings of its own. */
export type RoomLimit<Request> = string | Definition | Rule<Request>

/** One limit, or several that are decided together: either every one is charged or none. */
export type RoomLimits<Request> = RoomLimit<Request> | readonly RoomLimit<Request>[]

/** The limits of a request; without any, it is not limited. */
export type LimitsOfRequest<Request> = (request: Request) => Later<RoomLimits<Request> | null | undefined | false>

export interface ReadyRule<Request> extends Settings<Request> {
  readonly limit: Limit
  readonly candidate: Limit | undefined
  /** Only a plan says what its decision means: it is tried, or it is of type concurrency. */
  readonly isPlanned: boolean
  /** Of a limit of a document: the definition and the factor of an actor. */
  readonly find?: ((actor: string) => Found) | undefined
}

export type Rules<Request> = readonly ReadyRule<Request>[]

/** The judge of an outcome: true if it stays charged. */
export type Charging = (...outcome: never[]) => Later<boolean>

/** The settings that a room has for all its limits, and a limit may have for itself. */
export interface Settings<Request> {
  readonly key: ((request: Request) => Later<Actor>) | undefined
  readonly cost: number | ((request: Request) => Later<number>)
  readonly factor: number | ((request: Request) => Later<number>)
  readonly shadow: boolean
  /** The judge of outcomes: that of the room, and none of its limits has another. */
  readonly chargeOn: Charging | undefined
}

const RULE_FIELDS = ['limit', 'name', 'key', 'cost', 'factor', 'shadow', 'candidate']
/** The end of a candidate's key, behind its own or that of its limit: an entry of its own. */
const CANDIDATE = native.candidateEnd()

/** The rules that these limits are; `name` is the key of limits as text. A candidate is one for the only limit. */
export function rulesOf<Request>(
  given: unknown,
  name: string,
  settings: Settings<Request>,
  candidate: unknown,
): Rules<Request> {
  const each = fieldsOfAll(given)
  // Texts without a name share one, so their keys need the period behind it.
  const texts = each.filter(isUnnamed).map(({ limit }) => limit)
  const named = texts.length > 1 ? [...textLimits(name, texts.join(';'))] : undefined
  const rules = each.flatMap((fields) => {
    const { limit } = fields
    if (typeof limit !== 'string') return [ready(fields, limitFrom(limit as object), settings)]
    const own = textLimits(fields.name ?? name, limit)
    const limits = named !== undefined && isUnnamed(fields) ? named.splice(0, own.length) : own
    return limits.map((one) => ready(fields, one, settings))
  })
  if (candidate === undefined || rules.length === 0) return rules
  const [only, ...more] = rules
  if (only === undefined || more.length > 0) {
    const problem = 'must stand beside the limit that it is for, where there are several'
    throw outOfRange('', 'candidate', problem, `${rules.length} limits`)
  }
  return [beside(only, candidate)]
}

/** The rules of limits of a document, as it was when a request came. */
export interface DocumentRules<Request> {
  readonly document: Document
  readonly rules: Rules<Request>
  /** The name of its first limit when the room was made, which a candidate is for. */
  readonly first: string | undefined
}

/** The rules of limits of a document as it is now; `before` are those that a room had. */
export function rulesOfDocument<Request>(
  { document, names }: ChosenLimits,
  settings: Settings<Request>,
  candidate: unknown,
  before: DocumentRules<Request> | undefined,
): DocumentRules<Request> {
  const limits = names.map((name) => document.limit(name))
  // A limit that is added later must not be an error of every request.
  const tried = limits.map((limit, at) => (names[at] === before?.first ? { limit, candidate } : limit))
  const rules =
    before === undefined ? rulesOf(limits, '', settings, candidate) : rulesOf(tried, '', settings, undefined)
  const found = rules.map((rule, at) => ({
    ...rule,
    find: (actor: string) => document.find(names[at] as string, actor),
  }))
  return { document, rules: found, first: before === undefined ? names[0] : before.first }
}

/** The limits, where all of them are decided for this key's actor at cost 1 and nothing else is asked. */
export function plainOf<Request>(rules: Rules<Request>, { key }: Settings<Request>): Limit | Limit[] | undefined {
  const isPlain = rules.every((rule) => rule.key === key && rule.cost === 1 && rule.factor === 1 && !rule.isPlanned)
  const limits = rules.map(({ limit }) => limit)
  // A limit that is listed twice is charged once.
  if (!isPlain || new Set(limits.map(({ key }) => key)).size < limits.length) return undefined
  return limits.length === 1 ? limits[0] : limits
}

/** Returns these rules; a list without any, and what every request would fail with, is refused. */
export function proven<Request>(rules: Rules<Request>): Rules<Request> {
  if (rules.length === 0) throw outOfRange('', 'limits', 'must hold at least one limit', 'none')
  // What is known is asked of nobody.
  const nobody = new Limiter({ maxEntries: 1 })
  for (const key of new Set(rules.map(({ key }) => key))) {
    nobody.peekSync(
      rules.filter((rule) => rule.key === key).map(({ limit }) => limit),
      '',
    )
  }
  for (const { limit, candidate, cost, factor } of rules) {
    if (cost === 1 && factor === 1) continue
    // A cost is held against the size where its factor is known.
    const known = typeof cost === 'number' ? { cost } : {}
    for (const one of [limit, candidate]) {
      if (one === undefined) continue
      if (typeof factor === 'number') nobody.peekSync(one, '', { ...known, factor })
      else nobody.refundSync(one, '', known)
    }
  }
  nobody.close()
  return rules
}

/** The check of an actor: with the override of the document that the limit is of. */
export function checkOf({ limit, find }: ReadyRule<never>, actor: string, cost: unknown, factor: unknown): Check {
  // What a function leaves out is not the default of a check.
  if (typeof cost !== 'number') throw ofRequest(wrongType(limit.key, 'cost', 'must be a number', cost))
  if (typeof factor !== 'number') throw wrongType(limit.key, 'factor', 'must be a number', factor)
  if (find === undefined) return { limit, actor, cost, factor }
  const found = find(actor)
  return { limit: found.limit, actor, cost, factor: found.factor === 1 ? factor : factor * found.factor }
}

/** The check of a limit in shadow mode, which fails no request: nothing where the cost or the factor is none. */
export function triedCheckOf(rule: ReadyRule<never>, actor: string, cost: unknown, factor: unknown): Check | undefined {
  if (typeof cost !== 'number' || typeof factor !== 'number' || !Number.isInteger(cost) || cost < 0) return undefined
  // More than this is no cost for the engine, and as little admitted by any limit.
  const check = checkOf(rule, actor, Math.min(cost, 2 ** 53), factor)
  return Number.isFinite(check.factor) && (check.factor as number) >= 0 ? check : undefined
}

/** True if one of these limits is text that needs the name of its room. */
export const needsName = (given: unknown): boolean => fieldsOfAll(given).some(isUnnamed)

const isUnnamed = ({ limit, name }: RuleFields): boolean => typeof limit === 'string' && name === undefined

const fieldsOfAll = (given: unknown): RuleFields[] => (Array.isArray(given) ? given : [given]).map(ruleFields)

interface RuleFields {
  readonly limit: unknown
  readonly name?: string | undefined
  readonly candidate?: unknown
}

function ruleFields(given: unknown): RuleFields {
  if (typeof given === 'string') return { limit: given }
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw wrongType('', 'limits', 'must be a definition, a limit as text, or a list of them', given)
  }
  if (!('limit' in given)) return { limit: given }
  const fields = knownOptions(given, RULE_FIELDS, 'a limit', 'limits')
  const { limit, name } = fields
  if (typeof limit !== 'string' && (typeof limit !== 'object' || limit === null)) {
    throw wrongType('', 'limit', 'must be a definition or a limit as text', limit)
  }
  if (name !== undefined && (typeof name !== 'string' || name === '')) {
    throw wrongType('', 'name', 'must be a string that is not empty', name)
  }
  return fields as unknown as RuleFields
}

function ready<Request>(fields: RuleFields, limit: Limit, settings: Settings<Request>): ReadyRule<Request> {
  const own = settingsOf(fields, limit.key, settings)
  const isPlanned = own.shadow || native.holds(compiled(limit).handle)
  return beside({ ...own, limit, isPlanned, candidate: undefined }, fields.candidate)
}

/** A rule with this candidate, if it is one. */
function beside<Request>(rule: ReadyRule<Request>, given: unknown): ReadyRule<Request> {
  if (given === undefined || given === null) return rule
  const { key } = rule.limit
  if (rule.shadow) throw outOfRange(key, 'candidate', 'needs a limit that is enforced beside it', given)
  return { ...rule, isPlanned: true, candidate: candidateOf(given, key) }
}

/** A limit that shares no entry with the live one. */
function candidateOf(given: unknown, liveKey: string): Limit {
  const key = liveKey + CANDIDATE
  if (typeof given !== 'string') {
    if (typeof given !== 'object' || given === null || Array.isArray(given)) {
      throw wrongType(liveKey, 'candidate', 'must be a definition or a limit as text', given)
    }
    const { key: own } = given as { key?: unknown }
    return limitFrom({ ...given, key: typeof own === 'string' ? own + CANDIDATE : (own ?? key) })
  }
  const [one, ...more] = textLimits(key, given)
  if (one === undefined || more.length > 0) throw outOfRange(liveKey, 'candidate', 'must be one limit', given)
  return one
}

/** The settings that are given here, in place of the room's; each is checked. */
export function settingsOf<Request>(given: object, limit: string, room: Settings<Request>): Settings<Request> {
  const { key = room.key, cost = room.cost, factor = room.factor, shadow = room.shadow } = given as Settings<Request>
  const settings = { key, cost, factor, shadow, chargeOn: room.chargeOn }
  if (key !== undefined && typeof key !== 'function') {
    throw wrongType(limit, 'key', 'must be a function of the request', key)
  }
  for (const name of ['cost', 'factor'] as const) {
    const value = settings[name]
    if (typeof value !== 'number' && typeof value !== 'function') {
      throw wrongType(limit, name, 'must be a number or a function of the request', value)
    }
  }
  if (typeof shadow !== 'boolean') throw wrongType(limit, 'shadow', 'must be a boolean', shadow)
  return settings
}

/** Limits as text are read once: a function of the request may give the same ones for every request. */
const known = new Map<string, readonly Limit[]>()
const MOST_TEXTS = 1000

function textLimits(name: string, text: string): readonly Limit[] {
  const id = `${name}\n${text}`
  const seen = known.get(id)
  if (seen !== undefined) return seen
  const limits = parseLimits(name, text)
  if (known.size >= MOST_TEXTS) known.delete(known.keys().next().value as string)
  known.set(id, limits)
  return limits
}
