/** The limiter beside its peers, in one run. Prints JSON. */

import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import LocalStore from '@fastify/rate-limit/store/LocalStore.js'
import { MemoryStore, rateLimit } from 'express-rate-limit'
import { RateLimiterMemory } from 'rate-limiter-flexible'
import { bucket, concurrency, Limiter, sendRateLimitHeaders } from '../../node/dist/index.mjs'
import { duel, json } from './measure.mjs'

/** Large enough that nothing is denied: a denial is a shorter path for some, and a longer one for others. */
const PLENTY = 1_000_000_000
const CALLS = 100_000
const HOLDS = 10_000
const WINDOW_MS = 60_000

/** As the peers count: so many in a minute. */
const DRIP = PLENTY / WINDOW_MS

/** A sink for everything that was read, so that no compiler can leave the reading out. */
let sink = 0

function read(info) {
  const { blocked, remaining, resetMs, resetSec, fullResetMs, fullResetSec, waitMs, key, quota, binding, checks } = info
  const times = resetMs + resetSec + fullResetMs + fullResetSec + waitMs
  sink += remaining + times + key.length + quota + binding + checks.length + (blocked ? 1 : 0)
}

/** As many actors as calls; what is hot is the same one over again. */
function actors(count) {
  const names = Array.from({ length: count }, (_, number) => `actor:${String(number).padStart(14, '0')}`)
  return Array.from({ length: CALLS }, (_, call) => names[(call * 7919) % count])
}

function tidegateSync(names) {
  const limiter = new Limiter()
  const limit = bucket({ key: 'bench', size: PLENTY, dripRate: 1, dripSize: DRIP })
  return {
    run() {
      for (const name of names) read(limiter.limitSync(limit, name))
      return names.length
    },
  }
}

function tidegateLiteral(names) {
  const limiter = new Limiter()
  return {
    run() {
      for (const name of names) {
        read(limiter.limitSync({ key: 'bench', type: 'bucket', size: PLENTY, dripRate: 1, dripSize: DRIP }, name))
      }
      return names.length
    },
  }
}

function tidegateAsync(names) {
  const limiter = new Limiter()
  const limit = bucket({ key: 'bench', size: PLENTY, dripRate: 1, dripSize: DRIP })
  return {
    async run() {
      for (const name of names) read(await limiter.limit(limit, name))
      return names.length
    },
  }
}

function tidegateHold(names) {
  const limiter = new Limiter()
  const limit = concurrency({ key: 'bench', max: 3, lease: 60_000 })
  return {
    async run() {
      for (const name of names.slice(0, HOLDS)) {
        const held = await limiter.hold(limit, name)
        read(held.info)
        await held.release()
      }
      return HOLDS
    },
  }
}

function flexible(names) {
  const limiter = new RateLimiterMemory({ points: PLENTY, duration: WINDOW_MS / 1000 })
  return {
    async run() {
      for (const name of names) {
        const answer = await limiter.consume(name)
        sink += answer.remainingPoints + answer.msBeforeNext + answer.consumedPoints
      }
      return names.length
    },
  }
}

function expressStore(names) {
  const store = new MemoryStore()
  store.init({ windowMs: WINDOW_MS })
  return {
    async run() {
      for (const name of names) {
        const { totalHits, resetTime } = await store.increment(name)
        sink += totalHits + resetTime.getTime()
      }
      return names.length
    },
  }
}

function fastifyStore(names) {
  const store = new LocalStore(false, false, 2 * CALLS)
  const use = (_, { current, ttl }) => {
    sink += current + ttl
  }
  return {
    run() {
      for (const name of names) store.incr(name, use, WINDOW_MS, PLENTY)
      return names.length
    },
  }
}

/** Requests and responses as Node makes them, with what Express adds that a limiter reads. */
function exchanges(names) {
  const app = { get: () => false }
  return names.map((ip) => {
    const request = Object.assign(new IncomingMessage(new Socket()), { ip, app, method: 'GET', url: '/' })
    return { request, response: new ServerResponse(request) }
  })
}

const REQUESTS = 5000

function middleware(names, handle) {
  return {
    prepare: () => exchanges(names.slice(0, REQUESTS)),
    async run(all) {
      let passed = 0
      for (const { request, response } of all) {
        await handle(request, response, () => {
          passed++
        })
        sink += response.getHeaderNames().length
      }
      if (passed !== all.length) throw new Error(`${all.length - passed} of ${all.length} requests did not pass`)
      return passed
    },
  }
}

function tidegateMiddleware(names) {
  const limiter = new Limiter()
  const limit = bucket({ key: 'bench', size: PLENTY, dripRate: 1, dripSize: DRIP })
  return middleware(names, (request, response, next) => {
    const info = limiter.limitSync(limit, request.ip)
    sendRateLimitHeaders(response, info)
    if (!info.blocked) return next()
    response.statusCode = 429
    response.end('Too many requests')
  })
}

function expressMiddleware(names) {
  const handle = rateLimit({
    windowMs: WINDOW_MS,
    limit: PLENTY,
    keyGenerator: (request) => request.ip,
    validate: false,
  })
  return middleware(names, handle)
}

const FLEXIBLE = 'rate-limiter-flexible RateLimiterMemory.consume'
const EXPRESS_STORE = 'express-rate-limit MemoryStore.increment'
const FASTIFY_STORE = '@fastify/rate-limit LocalStore.incr'

const rows = []
for (const [which, count] of [
  ['hot key', 1],
  ['100k keys', 100_000],
]) {
  const names = actors(count)
  const versus = async (name, peer, ours, theirs, target) => {
    rows.push(await duel({ name: `${name}, ${which}`, peer, ours: ours(names), theirs: theirs(names), target }))
  }
  await versus('limitSync', FLEXIBLE, tidegateSync, flexible, 0.3)
  await versus('limitSync', EXPRESS_STORE, tidegateSync, expressStore, 1)
  await versus('limitSync', FASTIFY_STORE, tidegateSync, fastifyStore, 1)
  await versus('limitSync with a literal', FLEXIBLE, tidegateLiteral, flexible)
  await versus('await limit', FLEXIBLE, tidegateAsync, flexible)
  await versus('middleware with headers', 'express-rate-limit middleware', tidegateMiddleware, expressMiddleware, 0.5)
}
const hot = actors(1)
// Two calls of the engine, and what renews in between.
const [holds, limits] = [tidegateHold(hot), tidegateAsync(hot)]
rows.push(await duel({ name: 'a hold and its end', peer: 'tidegate await limit', ours: holds, theirs: limits }))
console.log(json(rows))
if (!Number.isFinite(sink)) throw new Error('the answers were not numbers')
