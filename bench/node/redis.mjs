/** The limiter beside its peers in one run, all over one Redis: `redis.mjs URL`. Prints JSON. */

import { Redis } from 'ioredis'
import { RedisStore } from 'rate-limit-redis'
import { RateLimiterRedis } from 'rate-limiter-flexible'
import { bucket, Limiter } from '../../node/dist/index.mjs'
import { duel, json } from './measure.mjs'

const [url] = process.argv.slice(2)
if (url === undefined) throw new Error('usage: redis.mjs URL, of a server that nobody else uses')

/** Large enough that nothing is denied: a denial is remembered, and not asked for again. */
const PLENTY = 1_000_000_000
const WINDOW_MS = 60_000
const AT_A_TIME = 512

/** A sink for everything that was read, so that no compiler can leave the reading out. */
let sink = 0
const connections = []
const limiters = []

function actors(count) {
  return Array.from({ length: count }, (_, number) => `actor:${String(number).padStart(14, '0')}`)
}

/** So many calls under way at a time, each of another actor. */
function inTurns(names, atATime, call) {
  return {
    async run() {
      let next = 0
      const one = async () => {
        while (next < names.length) await call(names[next++])
      }
      await Promise.all(Array.from({ length: atATime }, one))
      return names.length
    },
  }
}

function connect(options) {
  const connection = new Redis(url, options)
  connections.push(connection)
  return connection
}

function tidegate() {
  const limiter = new Limiter(url, { timeoutMs: 2000, onError: 'raise' })
  limiters.push(limiter)
  const limit = bucket({ key: 'bench', size: 1000 })
  return async (name) => {
    const { remaining, resetMs } = await limiter.limit(limit, name)
    sink += remaining + resetMs
  }
}

function flexible(options) {
  const settings = { storeClient: connect(options), points: PLENTY, duration: WINDOW_MS / 1000 }
  const limiter = new RateLimiterRedis(settings)
  return async (name) => {
    const { remainingPoints, msBeforeNext } = await limiter.consume(name)
    sink += remainingPoints + msBeforeNext
  }
}

async function expressStore() {
  const connection = connect()
  const store = new RedisStore({ sendCommand: (...words) => connection.call(...words) })
  await store.init({ windowMs: WINDOW_MS })
  return async (name) => {
    const { totalHits, resetTime } = await store.increment(name)
    sink += totalHits + resetTime.getTime()
  }
}

const FLEXIBLE = 'rate-limiter-flexible RateLimiterRedis.consume, ioredis'
/** With the targets of many calls at a time, and of one. */
const PEERS = [
  [FLEXIBLE, () => flexible(), [0.5, 1.2]],
  [`${FLEXIBLE} with auto-pipelining`, () => flexible({ enableAutoPipelining: true }), [0.5]],
  ['rate-limit-redis RedisStore.increment, ioredis', expressStore, []],
]

const rows = []
const LOADS = [
  { which: `${AT_A_TIME} at a time`, atATime: AT_A_TIME, count: 4096, rounds: 11 },
  { which: 'one at a time', atATime: 1, count: 300, rounds: 41 },
]
for (const [index, { which, atATime, count, rounds }] of LOADS.entries()) {
  const names = actors(count)
  for (const [peer, make, targets] of PEERS) {
    const [ours, theirs] = [tidegate(), await make()].map((call) => inTurns(names, atATime, call))
    rows.push(await duel({ name: `limit, ${which}`, peer, rounds, ours, theirs, target: targets[index] }))
  }
}
const suite = { ...JSON.parse(json(rows)), suite: 'node, redis' }
console.log(JSON.stringify(suite))
if (!Number.isFinite(sink)) throw new Error('the answers were not numbers')
for (const limiter of limiters) {
  // What is answered without the store is answered faster, and is not what is measured.
  const { decisions, storeCalls } = limiter.stats()
  if (storeCalls !== decisions) throw new Error(`${decisions - storeCalls} decisions were made without the store`)
}
for (const connection of connections) connection.disconnect()
