/** The golden answers that all languages share, through the public API, as promises and at once. */

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { Limiter } from 'tidegate'

const read = (name) => JSON.parse(readFileSync(new URL(`../vectors/${name}.json`, import.meta.url), 'utf8'))

function answer(info) {
  const { blocked, remaining, resetMs, resetSec, fullResetMs, fullResetSec, waitMs } = info
  return { blocked, remaining, resetMs, resetSec, fullResetMs, fullResetSec, waitMs }
}

function options({ now, call, maxWaitMs }, rest = {}) {
  return call === 'acquire' ? { now, maxWaitMs, ...rest } : { now, ...rest }
}

const ways = {
  'at once': (limiter, call) => limiter[`${call}Sync`].bind(limiter),
  'as promises': (limiter, call) => limiter[call].bind(limiter),
}

const files = { decisions: read('decisions'), legacy: read('legacy') }

for (const [way, verb] of Object.entries(ways)) {
  for (const [name, { one }] of Object.entries(files)) {
    test(`${name}: one limit at a time, ${way}`, async () => {
      let checked = 0
      for (const { limit, factor, steps } of one) {
        const limiter = new Limiter()
        for (const step of steps) {
          const call = verb(limiter, step.call)
          if (step.call === 'reset') {
            assert.equal(await call(limit, 'actor'), undefined)
            continue
          }
          const info = await call(limit, 'actor', options(step, { cost: step.cost, factor }))
          assert.deepEqual(answer(info), step.want, JSON.stringify({ limit, factor, step }))
          assert.equal(info.key, limit.key)
          checked++
        }
      }
      assert.ok(checked > 500, `${checked} answers`)
    })
  }

  test(`several limits together, ${way}`, async () => {
    let checked = 0
    for (const { limits, steps } of files.decisions.together) {
      const limiter = new Limiter()
      for (const step of steps) {
        const checks = limits.map((limit, index) => ({ limit, actor: 'actor', cost: step.costs[index] }))
        const info = await verb(limiter, `${step.call}All`)(checks, options(step))
        assert.deepEqual(answer(info), step.want, JSON.stringify({ limits, step }))
        assert.deepEqual(info.checks.map(answer), step.each, JSON.stringify({ limits, step }))
        checked++
      }
    }
    assert.ok(checked > 200, `${checked} answers`)
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
