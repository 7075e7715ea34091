/** The golden answers that all languages share, through the public API, as promises and at once. */

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { Limiter } from 'tidegate'
import { RedisServer } from './server.mjs'

const read = (name) => JSON.parse(readFileSync(new URL(`../vectors/${name}.json`, import.meta.url), 'utf8'))

function answer(info) {
  const { blocked, remaining, resetMs, resetSec, fullResetMs, fullResetSec, waitMs } = info
  return { blocked, remaining, resetMs, resetSec, fullResetMs, fullResetSec, waitMs }
}

function merged(info) {
  return { ...answer(info), binding: info.binding }
}

function options({ now, call, maxWaitMs, remaining, retryAfterMs, forMs }, { cost, ...rest } = {}) {
  if (call === 'observe') return { now, remaining, retryAfterMs, ...rest }
  if (call === 'block') return { now, forMs, ...rest }
  if (cost !== undefined) rest.cost = cost
  return call === 'acquire' ? { now, maxWaitMs, ...rest } : { now, ...rest }
}

const files = { decisions: read('decisions'), beyond: read('beyond'), legacy: read('legacy') }
const server = await RedisServer.start()

let stores = 0
const ways = {
  'at once': [() => new Limiter(), (limiter, call) => limiter[`${call}Sync`].bind(limiter)],
  'as promises': [() => new Limiter(), (limiter, call) => limiter[call].bind(limiter)],
  'over Redis': [
    () => new Limiter(server.url, { namespace: `store-${stores++}`, timeoutMs: 10_000, onError: 'raise' }),
    (limiter, call) => limiter[call].bind(limiter),
  ],
}

for (const [way, [open, verb]] of Object.entries(ways)) {
  const play = async (limiter, limit, factor, step) => {
    const call = verb(limiter, step.call)
    if (step.call === 'reset') {
      assert.equal(await call(limit, 'actor'), undefined)
      return 0
    }
    const info = await call(limit, 'actor', options(step, { cost: step.cost, factor }))
    assert.deepEqual(answer(info), step.want, JSON.stringify({ limit, factor, step }))
    assert.equal(info.key, limit.key)
    return 1
  }

  for (const [name, { one }] of Object.entries(files)) {
    test(`${name}: one limit at a time, ${way}`, async () => {
      let checked = 0
      for (const { limit, factor, steps } of one) {
        const limiter = open()
        for (const step of steps) checked += await play(limiter, limit, factor, step)
        await limiter.close()
      }
      assert.ok(checked > 400, `${checked} answers`)
    })
  }

  test(`definitions and factors that change, ${way}`, async () => {
    let checked = 0
    for (const { limits, steps } of [...files.decisions.changing, ...files.beyond.changing]) {
      const limiter = open()
      for (const step of steps) checked += await play(limiter, limits[step.limit], step.factor, step)
      await limiter.close()
    }
    assert.ok(checked > 500, `${checked} answers`)
  })

  test(`several limits together, ${way}`, async () => {
    let checked = 0
    for (const { limits, factors, steps } of [...files.decisions.together, ...files.beyond.together]) {
      const limiter = open()
      for (const step of steps) {
        const checks = limits.map((limit, index) => ({
          limit,
          actor: 'actor',
          cost: step.costs[index],
          factor: factors[index],
        }))
        const info = await verb(limiter, `${step.call}All`)(checks, options(step))
        assert.deepEqual(merged(info), step.want, JSON.stringify({ limits, step }))
        assert.deepEqual(info.checks.map(answer), step.each, JSON.stringify({ limits, step }))
        checked++
      }
      await limiter.close()
    }
    assert.ok(checked > 200, `${checked} answers`)
  })
}

for (const [way, [open, verb]] of Object.entries(ways)) {
  test(`as much as there is room for, ${way}`, async () => {
    for (const { limits, factors, steps } of files.beyond.upTo) {
      const limiter = open()
      for (const { now, cost, atLeast, granted, want, each } of steps) {
        const checks = limits.map((limit, index) => ({ limit, actor: 'actor', cost, factor: factors[index] }))
        const looked = await verb(limiter, 'peekAll')(checks, { now, atLeast })
        const info =
          limits.length === 1
            ? await verb(limiter, 'limit')(limits[0], 'actor', { now, cost, factor: factors[0], atLeast })
            : await verb(limiter, 'limitAll')(checks, { now, atLeast })
        assert.deepEqual([looked.granted, info.granted], [granted, granted])
        assert.deepEqual(merged(info), want, JSON.stringify({ limits, now }))
        assert.deepEqual(info.checks.map(answer), each, JSON.stringify({ limits, now }))
      }
      await limiter.close()
    }
  })
}

for (const [way, [open, verb]] of Object.entries(ways)) {
  test(`units are held, released and renewed, ${way}`, async () => {
    let checked = 0
    for (const { limits, factor, steps } of files.beyond.held) {
      const limiter = open()
      const answers = []
      for (const { now, call, of, costs, want, each } of steps) {
        const says = JSON.stringify({ limits, now, call })
        if (of === undefined) {
          const checks = limits.map((limit, index) => ({ limit, actor: 'actor', cost: costs[index], factor }))
          const info = await verb(limiter, `${call}All`)(checks, { now })
          assert.deepEqual(merged(info), want, says)
          assert.deepEqual(info.checks.map(answer), each, says)
          answers.push(info)
        } else {
          answers.push(await verb(limiter, call)(answers[of], { now }))
          assert.deepEqual(answer(answers.at(-1)), want, says)
        }
        checked++
      }
      await limiter.close()
    }
    assert.ok(checked > 300, `${checked} answers`)
  })
}

for (const { says, limits, steps, info: want, headers } of read('headers').cases) {
  test(`headers: ${says}`, () => {
    const limiter = new Limiter()
    let info
    for (const { now, call, costs } of steps) {
      if (limits.length === 1) info = limiter[`${call}Sync`](limits[0], 'actor', { now, cost: costs[0] })
      else {
        const checks = limits.map((limit, index) => ({ limit, actor: 'actor', cost: costs[index] }))
        info = limiter[`${call}AllSync`](checks, { now })
      }
    }
    assert.deepEqual(answer(info), want)
    assert.deepEqual(info.headers('x'), headers.x)
    for (const draft of [6, 7, 11]) assert.deepEqual(info.headers('ietf', { draft }), headers[draft], `draft ${draft}`)
  })
}
