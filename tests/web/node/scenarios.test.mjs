/** The scenarios that every framework of every language plays, over its own server. */

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { Limiter } from 'tidegate'
import { apps, get } from './apps.mjs'

const { scenarios } = JSON.parse(readFileSync(new URL('../../vectors/web.json', import.meta.url)))

/** A header of a request, or of the one in a context. */
const headerOf = (given, name) => {
  const headers = given.headers ?? given.req.raw?.headers
  return headers.get?.(name) ?? headers[name]
}

/** The options of a scenario: `{ header }` stands for a function of the request that reads it. */
function optionsOf({ limits, options: { key, cost, factor, skip, ...given } = {} }) {
  const read = (option) => (request) => headerOf(request, option.header)
  const number = (option) => (request) => Number(read(option)(request) ?? 1)
  return {
    limits: limits.choices ? (request) => limits.choices[headerOf(request, limits.header)] : limits,
    ...given,
    ...(key && { key: read(key) }),
    ...(cost && { cost: number(cost) }),
    ...(factor && { factor: number(factor) }),
    ...(skip && { skip: (request) => read(skip)(request) !== undefined }),
  }
}

/** The abilities that scenarios need and frameworks lack: their own form of errors, or no routes. */
const LACKS = {
  fastify: ['own-body'],
  koa2: ['routes'],
  koa3: ['routes'],
  nestExpress: ['own-body'],
  nestFastify: ['own-body'],
  web: ['routes'],
}

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
async function asking(url, { path, headers, status, open, until }, going) {
  const giveUp = Date.now() + PATIENCE_MS
  for (;;) {
    const response = await (open ? fetch(url + path, { headers }) : get(url, path, { headers }))
    if (response.status === status || !until || Date.now() > giveUp) {
      if (open) going.set(open, response)
      return response
    }
    if (open) await response.body.cancel()
  }
}

for (const [framework, make] of Object.entries(apps)) {
  const lacks = LACKS[framework] ?? []
  for (const scenario of scenarios.filter(({ needs }) => !lacks.includes(needs))) {
    test(`${framework}: ${scenario.name}`, async (context) => {
      const limiter = new Limiter()
      const { url } = await make({ limiter, ...optionsOf(scenario) }, { route: scenario.route })
      const going = new Map()
      context.after(() => Promise.all([...going.values()].map(({ body }) => body.cancel())))
      for (const [index, asked] of scenario.requests.entries()) {
        const { leave, path, status, has = {}, body = {}, used } = asked
        if (leave) await going.get(leave).body.cancel()
        if (path) {
          const response = await asking(url, asked, going)
          assert.equal(response.status, status, `request ${index}`)
          const { 'content-type': _, ...own } = has
          assertHeaders(response.headers, lacks.includes('own-body') ? own : has)
          if (!lacks.includes('own-body')) {
            for (const [name, value] of Object.entries(body)) {
              assert.deepEqual(JSON.parse(response.text)[name], value, name)
            }
          }
        }
        await assertUsed(limiter, used)
      }
      await assertUsed(limiter, scenario.used)
    })
  }
}
