/** Uses all of the API; the compiler checks it, nobody runs it. */

import { createServer } from 'node:http'
import {
  type AcquireOptions,
  type AcquireSyncOptions,
  type Allowance,
  type AnyLimit,
  type BucketDefinition,
  bucket,
  type CalendarWindowDefinition,
  type CallExplanation,
  type CallOptions,
  type Check,
  type Choice,
  type Chosen,
  type ClockOption,
  type ContextOptions,
  calendarWindow,
  type DecayDefinition,
  type DecisionOptions,
  type Definition,
  decay,
  type ExplainOptions,
  type Explanation,
  explain,
  type FixedWindowDefinition,
  fixedWindow,
  type HeaderKind,
  type HeaderOptions,
  type Headers,
  type Health,
  type LatencyStats,
  type LegacyDefinition,
  type LegacyTranslation,
  type Limit,
  LimitError,
  type LimitErrorDetails,
  Limiter,
  type LimiterOptions,
  type LimiterStats,
  LimitInfo,
  type LimitInfoFields,
  type LimitInfoJson,
  Limits,
  LimitsError,
  type LimitsFault,
  type LimitsFormat,
  legacy,
  limitFrom,
  limitJsonSchema,
  type NamedLimits,
  type OnError,
  parseLimit,
  parseLimits,
  type Reply,
  type ReportedFailure,
  rateLimitHeaders,
  type SlidingCounterDefinition,
  type SlidingLogDefinition,
  type SlidingWindowDefinition,
  type SmoothDefinition,
  StoreError,
  type StoreEvent,
  type StoreEventName,
  type StoreFailure,
  sendRateLimitHeaders,
  slidingCounter,
  slidingLog,
  slidingWindow,
  smooth,
  type TimeOptions,
  type TimeSource,
  type TlsOptions,
  type TokenBucketDefinition,
  type Top,
  type TopActor,
  tokenBucket,
  type WidenedDefinition,
} from 'tidegate'
import { Clock } from 'tidegate/testing'
import imported from './limits.json' with { type: 'json' }

const scales: BucketDefinition['factorScales'] = 'size-and-rate'
const login: Limit<BucketDefinition> = bucket({
  key: 'login',
  size: 10,
  dripRate: 1000,
  dripSize: 1,
  factorScales: scales,
})
const api: Limit<TokenBucketDefinition> = tokenBucket({ key: 'api', count: 100, period: 1000, burst: 20 })
const daily: Limit<FixedWindowDefinition> = fixedWindow({
  key: 'daily',
  max: 1000,
  period: 86_400_000,
  anchor: 'first-request',
})
const notes: Limit<LegacyDefinition> = legacy({
  key: 'notes',
  max: 300,
  duration: 3_600_000,
  minInterval: 1000,
  translation: 'exact',
})
const sms: Limit<SlidingWindowDefinition> = slidingWindow({
  key: 'sms',
  max: 5,
  period: 3_600_000,
  resolution: 600_000,
  countBlocked: true,
})
const web: Limit<SlidingCounterDefinition> = slidingCounter({ key: 'web', max: 100, period: 60_000 })
const otp: Limit<SlidingLogDefinition> = slidingLog({ key: 'otp', max: 5, period: 60_000, minInterval: 1000 })
const score: Limit<DecayDefinition> = decay({ key: 'score', max: 5, decayFactor: 2, resolution: 1000 })
const mailer: Limit<SmoothDefinition> = smooth({ key: 'mailer', rate: 5, maxBurst: 0, warmup: 3000, coldFactor: 3 })
const plan: Limit<CalendarWindowDefinition> = calendarWindow({
  key: 'plan',
  max: 10_000,
  unit: 'month',
  timeZone: 'Europe/Berlin',
  startsOn: 15,
})
const literal: Definition = { key: 'login', type: 'bucket', size: 10 }
const size: number = login.size
// @ts-expect-error a definition cannot be changed
login.size = size + 1
// @ts-expect-error a bucket has a size
bucket({ key: 'login' })
// @ts-expect-error a misspelt field
bucket({ key: 'login', size: 10, dripRates: 1000 })
// @ts-expect-error a type that there is not
const unknown: Definition = { key: 'login', type: 'buckets', size: 10 }

// What a JSON file says: its strings are strings and no more.
const widened: WidenedDefinition<string> = imported.login
for (const limit of [imported.login, imported.daily, widened]) {
  await new Limiter().limit(limit, 'ada')
  new Limiter().limitAllSync([{ limit, actor: 'ada' }])
}
new Limiter().limitSync([imported.login, imported.daily], 'ada')
explain(imported.login)
const read: Limit = limitFrom(imported.login)
new Limiter().limitSync(read, 'ada')
// @ts-expect-error a type that there is not, where it is known
new Limiter().limitSync({ key: 'k', type: 'buckets', size: 10 }, 'ada')
// @ts-expect-error a bucket has a size, where it is known to be one
new Limiter().limitSync({ key: 'k', type: 'bucket' }, 'ada')
// @ts-expect-error a key is needed in any case
new Limiter().limitSync({ type: imported.login.type, size: 10 }, 'ada')
const nulls: Limit<BucketDefinition> = bucket({ key: 'k', size: 10, dripRate: null, factorScales: null })
const dripRate: number | undefined = nulls.dripRate
console.log(dripRate)

const options: LimiterOptions = { maxEntries: 10_000, namespace: 'shop' }
const limiter = new Limiter()
const granted: number = limiter.limitSync(plan, 'ada', { cost: 5, atLeast: 2 }).granted
const told: LimitInfo = await limiter.observe(login, 'ada', {
  remaining: granted,
  retryAfterMs: 1500,
  factor: 2,
  now: 0,
})
// @ts-expect-error what is left is a number
limiter.observeSync(login, told.key, { remaining: '3' })
for (const other of [new Limiter(options), new Limiter('memory://'), new Limiter('memory://', options)])
  await other.close()
// @ts-expect-error an option that there is not
new Limiter({ timeout: 1 })

const onError: OnError = 'deny'
const tls: TlsOptions = { ca: 'PEM', cert: new Uint8Array(), key: Buffer.from('PEM') }
const sharing: LimiterOptions = { ...options, timeoutMs: 50, onError, denyCacheMs: 0, waitReplicas: 1, tls }
const shared = new Limiter('rediss://localhost', sharing)
for (const other of [new Limiter('redis://localhost'), new Limiter(new URL('redis://localhost'), { onError: 'raise' })])
  await other.close()
// @ts-expect-error a policy that there is not
new Limiter('redis://localhost', { onError: 'open' })

const clock = new Clock(0).advance(1000).set(new Date())
const source: TimeSource = clock
const clocked: ClockOption = { clock: source }
for (const other of [new Limiter(clocked), new Limiter('redis://localhost', { ...sharing, clock: Date.now })])
  await other.close()
const later: Choice<User> = async (user): Promise<Chosen> => (user.plan === 'free' ? login : [api, daily])
await limiter.limit(later, 'ada', { context: { plan: 'free' } })
const made: LimitInfoFields = { blocked: true, resetMs: 1000, key: 'login' }
const stub: LimitInfo = new LimitInfo(made)
const json: LimitInfoJson = stub.toJSON()
console.log(stub.allowed, json.allowed, json.checks?.[0]?.remaining)
// @ts-expect-error a field that there is not
new LimitInfo({ blocks: true })
limiter.limitSync(login, 'ada', { cost: null, factor: null, now: null })
new Limiter({ url: new URL('redis://localhost'), timeoutMs: 50, password: 'secret', strategy: null })
// @ts-expect-error a URL that may be missing
new Limiter(process.env.REDIS_URL)
const health: Health = await limiter.ping()
const removed: number = await limiter.clear()
console.log(health.warnings, removed)

const log = (event: StoreEvent): void => {
  const name: StoreEventName = event.name
  console.log(name, event.server, event.message, event.failure ?? 'well')
}
shared
  .on('breaker-open', (event) => {
    const failure: ReportedFailure = event.failure
    console.log(failure)
  })
  .once('breaker-close', (event) => {
    const failure: undefined = event.failure
    console.log(failure)
  })
  .off('failure', log)
// @ts-expect-error an event that there is not
shared.on('breakeropen', log)

const stats: LimiterStats = shared.stats()
const latency: LatencyStats = stats.latency
const timeouts: number = stats.failures.timeout
console.log(stats.decisions, stats.breaker === 'open', timeouts, latency.sumMs, latency.buckets[0]?.underMs?.toFixed(3))

const { denied }: Top = shared.top(3)
const first: TopActor | undefined = denied[0]
console.log(first?.actor, (first?.count ?? 0) - (first?.error ?? 0))

const call: CallOptions = { cost: 1, factor: 0.5, now: 0 }
const time: TimeOptions = { now: undefined }
const limits: AnyLimit = [login, api, daily, notes, sms, web, otp, score, mailer, literal]
const checks: readonly Check[] = [
  { limit: login, actor: 'ip' },
  { limit: literal, actor: 'user', cost: 5, factor: 2 },
]

const infos: LimitInfo[] = [
  await limiter.limit(login, 'ada'),
  await limiter.limit(limits, 'ada', call),
  await limiter.limit({ key: 'api', type: 'token-bucket', count: 1, period: 1 }, 'ada', { cost: undefined }),
  await limiter.peek(login, 'ada', call),
  await limiter.charge(login, 'ada', call),
  await limiter.refund(login, 'ada', call),
  await limiter.limitAll(checks, time),
  await limiter.peekAll(checks),
  limiter.limitSync(login, 'ada', call),
  limiter.peekSync(login, 'ada', call),
  limiter.chargeSync(login, 'ada', call),
  limiter.refundSync(login, 'ada', call),
  limiter.limitAllSync(checks, time),
  limiter.peekAllSync(checks),
]
const charged = limiter.limitSync(login, 'ada')
infos.push(limiter.refundSync(charged), await limiter.refund(charged, time), limiter.settleSync(charged, 2))
infos.push(await limiter.settle(charged, [2, 3], time))

interface User {
  readonly plan: 'free' | 'paid'
}
const byPlan: Choice<User> = (user) => (user.plan === 'free' ? login : [api, daily])
const context: ContextOptions<User> = { context: { plan: 'free' } }
const decision: DecisionOptions<User> = { ...context, now: 0 }
infos.push(limiter.limitSync(byPlan, 'ada', context), await limiter.limit([byPlan, sms], 'ada', context))
infos.push(limiter.limitAllSync([{ limit: byPlan, actor: 'ada' }], decision))
limiter.resetSync(byPlan, 'ada', context)
// @ts-expect-error a plan that there is not
limiter.limitSync(byPlan, 'ada', { context: { plan: 'gold' } })

const format: LimitsFormat = 'yaml'
const named: Limits = Limits.fromText('api: 100/minute', format)
const loaded: Limit | undefined =
  named.size > 0 && named.has('api') ? named.get('api') : Limits.load('limits.toml').get('api')
if (loaded) infos.push(limiter.peekSync(loaded, 'ada'))
for (const [name, limit] of named) console.log(name.length, limit.key, [...named.keys()], [...named.values()])
infos.push(limiter.peekSync(parseLimit('api', '5/15m burst 20'), 'ada'))
infos.push(limiter.peekSync(parseLimits('api', '100/minute; 10/second'), 'ada'))
const settings: NamedLimits = { api: '100/minute', login: { type: 'bucket', size: 10 }, open: { key: 'o', max: 1 } }
const fromSettings: Limits[] = [Limits.fromObject(settings), Limits.fromObject({ limits: settings })]
infos.push(limiter.peekSync(fromSettings[0]?.get('api') ?? parseLimit('api', '1/s'), 'ada'))
// @ts-expect-error: no type, no text
Limits.fromObject({ api: 5 })

const explaining: ExplainOptions<User> = { factor: 0.5, ...context }
const explanation: Explanation = explain(byPlan, explaining)
const allowance: Allowance | undefined = explanation.allowances[0]
const translated: LegacyTranslation | null = explain(notes).translated
const explained: CallExplanation = limiter.explainSync(login, 'ada', call)
infos.push(explained.info, (await limiter.explain(limits, 'ada')).info)
console.log(`${explanation} ${explained}`, allowance?.burst, translated?.deviation, limitJsonSchema().$defs)

const acquire: AcquireOptions = { maxWaitMs: 2000, signal: AbortSignal.timeout(1000) }
const acquireSync: AcquireSyncOptions = { now: 0, maxWaitMs: 2000 }
infos.push(await limiter.acquire(login, 'ada', acquire), limiter.acquireSync(login, 'ada', acquireSync))
// @ts-expect-error nothing can be waited for here
limiter.acquireSync(login, 'ada', { maxWaitMs: 2000 })
// @ts-expect-error an actor is a string
limiter.limitSync(login, 5)
limiter.resetSync(login, 'ada')
await limiter.reset(limits, 'ada')
const counts: number[] = [limiter.entries, limiter.evictions]
// @ts-expect-error the store counts for itself
limiter.entries = 0

for (const info of infos) {
  const numbers: number[] = [
    info.remaining,
    info.resetMs,
    info.resetSec,
    info.fullResetMs,
    info.fullResetSec,
    info.waitMs,
  ]
  numbers.push(info.nextMs, info.quota, info.windowMs, info.binding)
  const blocked: boolean = info.blocked || info.degraded
  const key: string = info.key
  const each: readonly LimitInfo[] = info.checks
  const kind: HeaderKind = blocked ? 'both' : 'x'
  const draft: HeaderOptions = { draft: 7 }
  const headers: Headers[] = [
    info.headers(),
    info.headers(kind),
    info.headers('ietf', draft),
    rateLimitHeaders(info, kind, draft),
  ]
  console.log(numbers, key, each, headers)
}
// @ts-expect-error a kind that there is not
infos[0]?.headers('y')

createServer((_, response) => {
  const reply: Reply = response
  sendRateLimitHeaders(reply, limiter.limitSync(login, 'ada'))
  sendRateLimitHeaders(response, limiter.limitSync(login, 'ada'), 'ietf', { draft: 11 })
})
sendRateLimitHeaders(
  { header: (name: string, value: string) => console.log(name, value) },
  limiter.peekSync(login, 'ada'),
)

try {
  bucket({ key: '', size: 0 })
} catch (error) {
  if (error instanceof LimitError) {
    const code: 'ERR_LIMIT' = error.code
    const details: LimitErrorDetails = error
    console.log(code, details.key, error.field, error.value, error.message)
  } else if (error instanceof LimitsError) {
    const faults: readonly LimitsFault[] = error.errors
    console.log(faults[0]?.path, faults[0]?.message, faults[0]?.line, faults[0]?.column)
  } else if (error instanceof StoreError) {
    const code: 'ERR_STORE' = error.code
    const failure: StoreFailure = error.failure
    console.log(code, failure)
  }
}
console.log(counts, unknown)

/** Each verb takes and answers the same as its twin, but for `acquire`, whose twin needs `now`. */
type Verb = {
  [Name in keyof Limiter]: Name extends `${infer Verb}Sync` ? Exclude<Verb, 'acquire'> : never
}[keyof Limiter]
type Call<Method> = Method extends (...given: infer Given) => infer Answer ? [Given, Awaited<Answer>] : never
type Calls<Suffix extends string> = { [Name in Verb]: Call<Limiter[`${Name}${Suffix}` & keyof Limiter]> }
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
export const areTwins: Same<Calls<''>, Calls<'Sync'>> = true
