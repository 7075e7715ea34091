/** The scenarios that every framework of every language plays, over its own server. */

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { setImmediate, setTimeout } from 'node:timers/promises'
import { Limiter } from 'tidegate'
import { forgetMistakes } from '../../../node/dist/http/gate.js'
import { RedisServer } from '../../node/server.mjs'
import { get, headerOf } from './apps.mjs'

const { scenarios } = JSON.parse(readFileSync(new URL('../../vectors/web.json', import.meta.url)))

/** The options of an app or a place: `{ header }` stands for a function of the request that reads it, as a promise or not. */
function optionsOf({ limits, key, cost, factor, skip, ...given }, isAsync) {
  const found = (value) => (isAsync ? Promise.resolve(value) : value)
  const number = (option) => (request) => found(Number(headerOf(request, option.header) ?? 1))
  return {
    limits: limits.choices ? (request) => found(limits.choices[headerOf(request, limits.header)]) : limits,
    ...given,
    ...(key && { key: (request) => found(headerOf(request, key.header)) }),
    ...(cost && { cost: number(cost) }),
    ...(factor && { factor: number(factor) }),
    ...(skip && { skip: (request) => found(headerOf(request, skip.header) != null) }),
  }
}

/**
 * The abilities that scenarios need and frameworks lack: errors are answered in a form of their own, in NestJS always and
 * in Fastify unless there is an option, and a check of web handlers knows no route.
 */
const LACKS = {
  fastify: ['negotiated-body'],
  nestExpress: ['own-body', 'negotiated-body'],
  nestFastify: ['own-body', 'negotiated-body'],
  web: ['route names', 'methods'],
}

/** The codes of the mistakes that were told. */
const told = []
process.on('warning', ({ code }) => told.push(code))

function assertHeaders(headers, expected) {
  for (const [name, value] of Object.entries(expected)) {
    const given = headers.get(name)
    if (Array.isArray(value)) {
      assert.ok(given !== null && value[0] <= Number(given) && Number(given) <= value[1], `${name}: ${given}`)
    } else {
      assert.equal(given?.replace('application/json; charset=utf-8', 'application/json') ?? null, value, name)
    }
  }
}

/** The longest time that a response may take to end for the server when it has for its client. */
const PATIENCE_MS = 30_000

/** Asserts the units that actors have used, which may take a while. */
async function assertUsed(limiter, expected = []) {
  const until = Date.now() + PATIENCE_MS
  for (const [limit, actor, units] of expected) {
    let used
    do {
      const { quota, remaining } = await limiter.peek(limit, actor)
      used = quota - remaining
      if (used !== units) await setTimeout(1)
    } while (used !== units && Date.now() < until)
    assert.equal(used, units, `${limit.key} of ${actor}`)
  }
}

/**
 * The response to a request, which is sent until it has its status; one that goes on ends when its body is cancelled.
 * Until then somebody must refer to it, or Node's fetch cancels it by itself.
 */
async function asking(url, { path, headers, method, peer, status, open, until }, going) {
  const giveUp = Date.now() + PATIENCE_MS
  for (;;) {
    const response = await (open ? fetch(url + path, { headers }) : get(url, path, { headers, method, peer }))
    if (response.status === status || !until || Date.now() > giveUp) {
      if (open) going.set(open, response)
      return response
    }
    if (open) await response.body.cancel()
  }
}

const redis = await RedisServer.start()
let names = 0
/** A limiter of each kind, with entries of its own. */
const stores = {
  memory: () => new Limiter(),
  redis: () => new Limiter(redis.url, { timeoutMs: 10_000, namespace: `scenario${names++}` }),
}

/** A test for each scenario, store, and one of these apps. */
export function playAll(apps) {
  for (const [framework, make] of Object.entries(apps)) {
    const lacks = LACKS[framework] ?? []
    for (const scenario of scenarios.filter(({ needs }) => !lacks.includes(needs))) {
      for (const [store, limiterOf] of Object.entries(stores)) {
        const isAsync = store === 'redis'
        const name = `${framework}, ${store}: ${scenario.name}`
        test(name, (context) => play(context, scenario, make, limiterOf(), isAsync, lacks))
      }
    }
  }
}

async function play(context, scenario, make, limiter, isAsync, lacks) {
  const { limits, options, item, router, requests, used, mistakes = [] } = scenario
  forgetMistakes()
  told.length = 0
  const going = new Map()
  context.after(async () => {
    for (const { body } of going.values()) await body.cancel()
    await limiter.close()
  })
  const ofPlace = (place) => place && optionsOf(place, isAsync)
  const app = { limiter, ...optionsOf({ limits, ...options }, isAsync) }
  const { url } = await make(app, { item: ofPlace(item), router: ofPlace(router) })
  const hasBody = !lacks.includes('negotiated-body') || options?.body !== undefined
  for (const [index, asked] of requests.entries()) {
    const { leave, path, status, has = {}, body = {} } = asked
    if (leave) await going.get(leave).body.cancel()
    if (path) {
      const response = await asking(url, asked, going)
      assert.equal(response.status, status, `request ${index}`)
      const { 'content-type': _, ...own } = has
      assertHeaders(response.headers, hasBody ? has : own)
      for (const [name, value] of hasBody ? Object.entries(body) : []) {
        assert.deepEqual(JSON.parse(response.text)[name], value, name)
      }
    }
    await assertUsed(limiter, asked.used)
  }
  await assertUsed(limiter, used)
  await setImmediate()
  assert.deepEqual(told, mistakes)
}
