/** Uses the rooms with the types of their frameworks; the compiler checks it, nobody runs it. */

import theirs from '@fastify/rate-limit'
import { getConnInfo } from '@hono/node-server/conninfo'
import type { CanActivate } from '@nestjs/common'
import { ThrottlerModule } from '@nestjs/throttler'
import express, { type Request } from 'express'
import { rateLimit } from 'express-rate-limit'
import Fastify from 'fastify'
import { Hono } from 'hono'
import { rateLimiter } from 'hono-rate-limiter'
import Koa from 'koa'
import Koa2 from 'koa2'
import { BurstyRateLimiter, RateLimiterQueue, RateLimiterUnion, RLWrapperBlackAndWhite } from 'rate-limiter-flexible'
import { bucket, Limiter, type LimitInfo } from 'tidegate'
import * as forExpress from 'tidegate/express'
import tidegate, {
  type RateLimitOptions as FastifyOptions,
  RateLimitError,
  type RateLimitHook,
  type RouteLimits,
} from 'tidegate/fastify'
import * as forHono from 'tidegate/hono'
import * as forKoa from 'tidegate/koa'
import { RateLimit, type RateLimitException, SkipRateLimit, TidegateGuard, TidegateModule } from 'tidegate/nestjs'
import { RateLimiterService, sendRateLimitHeaders } from 'tidegate/sharkey'
import { Store as ExpressStore } from 'tidegate/stores/express-rate-limit'
import { Store as FastifyStore } from 'tidegate/stores/fastify-rate-limit'
import { Store as HonoStore } from 'tidegate/stores/hono-rate-limiter'
import { Store as ThrottlerStore } from 'tidegate/stores/nestjs-throttler'
import { Store as FlexibleStore } from 'tidegate/stores/rate-limiter-flexible'
import * as forWeb from 'tidegate/web'

const limiter = new Limiter()
const login = bucket({ key: 'login', size: 10 })

// Express: the request has the types of Express, and the answer.
const options: forExpress.RateLimitOptions = {
  limiter,
  limits: [
    '100/minute',
    login,
    { key: 'literal', type: 'bucket', size: 5 },
    { limit: '5/minute', name: 'user', key: (request) => request.get('authorization'), shadow: true },
    { limit: '9/minute', name: 'other', candidate: login },
  ],
  key: async (request: Request) => request.get('x-api-key'),
  cost: (request) => Number(request.query.cost ?? 1),
  factor: 0.5,
  skip: (request) => request.path === '/health',
  onBlocked: (info, _request, response, next) => (info.resetMs > 1000 ? response.sendStatus(429) : next()),
  chargeOn: (_request, response) => response.statusCode === 401,
  headers: 'both',
  draft: 11,
  status: 503,
  body: 'json',
  trustedProxies: ['10.0.0.0/8'],
  silence: ['memory-many-workers'],
}
const limit: forExpress.RateLimit = forExpress.rateLimit(options)
const app = express()
app.use(limit)
app.post('/login', limit.and('5/minute'), limit.and({ limits: login, cost: 2 }), (request, response) => {
  const info: LimitInfo | undefined = request.rateLimit
  response.json(info?.remaining)
})
forExpress.rateLimit({ limits: (request) => (request.secure ? '100/minute' : [login, '10/second']) })
forExpress.rateLimit({ limits: async () => undefined, chargeOn: [401, 403], limiter: new URL('redis://localhost') })
const trials: forExpress.Trials = limit.trials()
// @ts-expect-error limits have to be given
forExpress.rateLimit({ limiter })
// @ts-expect-error a key is a function
forExpress.rateLimit({ limits: login, key: 'ip' })
// @ts-expect-error there is no such option
forExpress.rateLimit({ limits: login, max: 5 })
// @ts-expect-error a bucket has a size
forExpress.rateLimit({ limits: { key: 'k', type: 'bucket' } })

// Fastify: options of the plugin and of routes, and the answer.
const fastify = Fastify()
const plugin: FastifyOptions = { limiter, limits: '100/minute', hook: 'preHandler', key: (request) => request.hostname }
await fastify.register(tidegate, plugin)
await fastify.register(tidegate, {
  limits: (request) => (request.ip === '::1' ? undefined : '5/minute'),
  global: false,
})
const strict: RouteLimits = { limits: '5/minute', adds: true }
fastify.get('/', { config: { rateLimit: strict } }, (request) => request.rateLimit?.remaining ?? null)
fastify.get('/free', { config: { rateLimit: false } }, () => 'free')
const hook: RateLimitHook = fastify.rateLimit({ limits: '1/minute' })
fastify.get('/waits', async (request, reply) => {
  await hook(request, reply)
  return reply.sent
})
fastify.addHook('onRequest', hook)
Fastify({ http2: true, https: {} }).get('/', { preHandler: hook }, () => 'over HTTP/2')
fastify.setNotFoundHandler({ preHandler: hook }, (_request, reply) => reply.code(404))
fastify.setErrorHandler((error) => (error instanceof RateLimitError ? error.info.resetSec : 0))
// @ts-expect-error there is no such option
const wrong: RouteLimits = { max: 5 }
// @ts-expect-error there is no such hook
await fastify.register(tidegate, { limits: login, hook: 'onSend' })

// Koa: the context and its state.
const koa = forKoa.rateLimit({ limits: login, key: (context) => context.get('x-api-key'), onBlocked: 'error' })
new Koa().use(koa)
new Koa2().use(koa)
new Koa<forKoa.RateLimitState>().use(koa).use((context) => {
  const info: LimitInfo | undefined = context.state.rateLimit
  context.body = info
})

// Hono: the context, and the variable.
const hono = forHono.rateLimit({ limits: '5/minute', getConnInfo, key: (context) => context.req.header('x-api-key') })
new Hono().use(hono).get('/', (context) => context.json(context.var.rateLimit?.remaining))
new Hono<forHono.RateLimitEnv>().get('/', hono, (context) => {
  const info: LimitInfo | undefined = context.var.rateLimit
  return context.json(info)
})

// The web's own requests.
const check: forWeb.RateLimit = forWeb.rateLimit({
  limits: '5/minute',
  key: (request) => request.headers.get('x-api-key'),
})
const { info, headers, response, apply } = await check(new Request('http://localhost'), { address: '203.0.113.9' })
const all: Record<string, string> = headers
const answer: Response = response ?? apply(Response.json(info?.remaining))
const error = new forExpress.RateLimitError(info as LimitInfo, 429)
console.log(
  trials.shadow.login?.denied,
  trials.candidates.login?.onlyCandidateDenied,
  all,
  answer,
  error.statusCode,
  wrong,
)

// Stores for other libraries.
app.use(rateLimit({ limit: 5, store: new ExpressStore({ limiter, prefix: 'api' }) }))
new Hono().use(rateLimiter({ limit: 5, keyGenerator: () => 'ada', store: new HonoStore({ limiter }) }))
await fastify.register(theirs, { max: 5, store: FastifyStore.with({ limiter: 'redis://localhost' }) })
ThrottlerModule.forRoot({ throttlers: [{ ttl: 60_000, limit: 5 }], storage: new ThrottlerStore({ limiter }) })
const flexible = new FlexibleStore({ limiter, points: 5, duration: 60, blockDuration: 10 })
flexible.points = 10
const hits: number = (await new ExpressStore().increment(7)).totalHits
const left: number = (await flexible.consume('ada', 2, { customDuration: 10 })).remainingPoints
const wrapped = new RLWrapperBlackAndWhite({ limiter: flexible, blackList: ['eve'] })
new RateLimiterQueue(new BurstyRateLimiter(flexible, wrapped))
console.log(hits, left, new RateLimiterUnion(flexible, wrapped))
// @ts-expect-error there is no such option
new HonoStore({ max: 5 })
// @ts-expect-error points have to be given
new FlexibleStore({ duration: 60 })

// Sharkey's service: limits of both forms, and the factor of the app's own users.
const service = new RateLimiterService({
  limiter,
  factor: (user: { id: string; role: string } | null) => user?.role.length ?? 1,
})
fastify.get('/notes', async (request, reply) => {
  await service.limit({ key: 'notes', duration: 1000, max: 5, minInterval: 10 }, { id: '9abc', role: 'admin' })
  sendRateLimitHeaders(reply, await service.limit({ key: 'notes', type: 'bucket', size: 5 }, request.ip))
})
// @ts-expect-error a user of this service has a role
await service.limit({ key: 'notes', size: 5 }, { id: '9abc' })

// NestJS: the module and its decorators.
TidegateModule.forRoot({ limiter, limits: ['100/minute', login], key: (request: Request) => request.ip })
TidegateModule.forRootAsync({ inject: ['limits'], useFactory: (limits: string) => ({ limits, global: false }) })
TidegateModule.forRoot({
  limits: '100/minute',
  getRequest: (context, found) => (context.getType() === 'rpc' ? context.switchToRpc().getContext() : found),
})
const guard: new () => CanActivate = TidegateGuard
const refusal = (exception: RateLimitException): number => exception.extensions.retryAfter + exception.info.resetSec
console.log(guard, refusal)
RateLimit('5/minute')
RateLimit({ limits: login, adds: true, chargeOn: [401] })
SkipRateLimit()
// @ts-expect-error there is no such option
RateLimit({ max: 5 })
