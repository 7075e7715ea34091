/** The golden answers that all languages share, through the public API, as promises and at once. */

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { Limiter } from 'tidegate'

const vectors = JSON.parse(readFileSync(new URL('../vectors/decisions.json', import.meta.url), 'utf8'))

/** The types that this version decides; a definition without one is a legacy limit. */
const KNOWN = new Set(['bucket', 'token-bucket', 'fixed-window', undefined])
const known = (limit) => KNOWN.has(limit.type)

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

for (const [way, verb] of Object.entries(ways)) {
  test(`one limit at a time, ${way}`, async () => {
    let checked = 0
    for (const { limit, factor, steps } of vectors.one.filter(({ limit }) => known(limit))) {
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
    assert.ok(checked > 200, `${checked} answers`)
  })

  test(`several limits together, ${way}`, async () => {
    let checked = 0
    for (const { limits, steps } of vectors.together.filter(({ limits }) => limits.every(known))) {
      const limiter = new Limiter()
      for (const step of steps) {
        if (step.call !== 'limit' && step.call !== 'peek') continue
        const checks = limits.map((limit, index) => ({ limit, actor: 'actor', cost: step.costs[index] }))
        const info = await verb(limiter, `${step.call}All`)(checks, options(step))
        assert.deepEqual(answer(info), step.want, JSON.stringify({ limits, step }))
        assert.deepEqual(info.checks.map(answer), step.each, JSON.stringify({ limits, step }))
        checked++
      }
    }
    assert.ok(checked > 20, `${checked} answers`)
  })
}
