/** Limits in shadow mode and candidates: decided in the one call of their request, counted, and never enforced. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bucket, Limiter, legacy, tokenBucket } from 'tidegate'
import { rateLimit } from 'tidegate/web'
import { eventually, freePort, RedisServer } from '../../node/server.mjs'
import { apps, get } from './apps.mjs'

const redis = await RedisServer.start()
let names = 0
const stores = {
  memory: () => new Limiter(),
  redis: () => new Limiter(redis.url, { timeoutMs: 5000, onError: 'raise', namespace: `trials${names++}` }),
}
const hourly = (count, key = 'api') => tokenBucket({ key, count, period: 3_600_000 })
const UNLIMITED = Number.MAX_SAFE_INTEGER
const left = async (limiter, limit) => (await limiter.peek(limit, 'ada')).remaining

/** Settings that no limit can be asked with, as clients make them. */
const unusable = [
  { key: () => 'x'.repeat(70_000) },
  { key: async () => ({}) },
  { key: () => 'ada\ud800' },
  { cost: () => -1 },
  { cost: async () => 0.5 },
  { cost: () => Number.NaN },
  { cost: () => '5' },
  { cost: () => undefined },
  { cost: () => undefined.length },
]
/** The same, as the program makes them. */
const wrong = [{ factor: () => Number.NaN }, { factor: () => -1 }, { factor: async () => undefined }]
const failing = { key: () => Promise.reject(new Error('on purpose')) }

for (const [framework, make] of Object.entries(apps)) {
  test(`${framework}: a limit in shadow mode fails no request, and those that are enforced still refuse`, async () => {
    const strict = { limit: hourly(1, 'strict'), shadow: true }
    const ask = async (options) => {
      const { url, trials } = await make({ limiter: new Limiter(), ...options })
      const { status, text } = await get(url, '/left')
      return [status, text, trials().shadow]
    }
    for (const own of [...unusable, ...wrong]) {
      const shown = JSON.stringify(own, (_, value) => (typeof value === 'object' ? value : `${value}`))
      assert.deepEqual(await ask({ limits: hourly(5), shadow: true, ...own }), [200, `${UNLIMITED}`, {}], shown)
      assert.deepEqual(await ask({ limits: [hourly(5), { ...strict, ...own }] }), [200, '4', {}], shown)
      const other = {
        limits: [
          { ...strict, ...own },
          { ...strict, limit: hourly(5) },
        ],
      }
      assert.deepEqual(await ask(other), [200, `${UNLIMITED}`, { api: { admitted: 1, denied: 0 } }], shown)
      const status = wrong.includes(own) ? 500 : 400
      assert.equal((await ask({ limits: [{ limit: hourly(5), ...own }, strict] }))[0], status, shown)
    }
    assert.equal((await ask({ limits: hourly(5), shadow: true, ...failing }))[0], 500)
    assert.equal((await ask({ limits: [hourly(5), { ...strict, ...failing }] }))[0], 500)
    const huge = { admitted: 0, denied: 1 }
    assert.deepEqual(await ask({ limits: [hourly(5), { ...strict, cost: () => 1e30 }] }), [200, '4', { strict: huge }])
  })
}

test('a limit in shadow mode that finds no address limits nothing, and tells of it once', async (context) => {
  const warned = context.mock.method(process, 'emitWarning', () => {})
  const check = rateLimit({ limiter: new Limiter(), limits: hourly(1), shadow: true })
  for (const _ of [1, 2]) {
    const { info, response } = await check(new Request('http://localhost'))
    assert.deepEqual([info.remaining, response], [UNLIMITED, undefined])
  }
  const codes = warned.mock.calls.map(({ arguments: [, { code }] }) => code)
  assert.deepEqual(codes, ['no-client-address'])
  const twice = rateLimit({ limits: () => [hourly(1), hourly(2)], shadow: true, key: () => 'ada' })
  assert.equal((await twice(new Request('http://localhost'))).info.remaining, UNLIMITED)
})

/** The statuses of so many requests of one actor. */
async function statuses(check, count, status = 200) {
  const all = []
  for (let request = 0; request < count; request++) {
    const limited = await check(new Request('http://localhost'))
    all.push((limited.response ?? limited.apply(new Response(null, { status }))).status)
  }
  return all
}

for (const [store, limiterOf] of Object.entries(stores)) {
  const room = (limits, options) => {
    const limiter = limiterOf()
    return { limiter, check: rateLimit({ limiter, limits, key: () => 'ada', ...options }) }
  }

  test(`${store}: a request that is refused is charged to a limit in shadow mode alone`, async () => {
    const wide = hourly(9, 'wide')
    const { limiter, check } = room([hourly(1), { limit: wide, shadow: true }])
    assert.deepEqual(await statuses(check, 4), [200, 429, 429, 429])
    assert.deepEqual(check.trials().shadow, { wide: { admitted: 4, denied: 0 } })
    assert.deepEqual([await left(limiter, hourly(1)), await left(limiter, wide)], [0, 5])
  })

  test(`${store}: a limit that two rooms ask for stays charged if one of them says so, and each tries its own`, async () => {
    const [wide, strict, login] = [hourly(9, 'wide'), hourly(1, 'strict'), hourly(5, 'login')]
    const { limiter, check } = room([wide, { limit: strict, shadow: true }], { chargeOn: [200] })
    const limits = [
      { limit: wide, cost: 3 },
      { limit: login, candidate: hourly(7, 'login') },
    ]
    const more = check.and({ limits, chargeOn: async (_request, { status }) => status > 200 })
    const all = [wide, strict, login, hourly(7, 'login candidate')]
    const leftOf = async () => (await Promise.all(all.map((limit) => left(limiter, limit)))).join()
    for (const [status, expected] of [
      [200, '8,0,5,7'],
      [200, '7,0,5,7'],
      [401, '4,0,4,6'],
      [500, '1,0,3,5'],
    ]) {
      await statuses(more, 1, status)
      await eventually(leftOf, (left) => left === expected)
    }
  })

  test(`${store}: candidates are decided beside denials, each on its own`, async () => {
    const { limiter, check } = room([
      { limit: hourly(2), candidate: hourly(4) },
      { limit: hourly(9, 'other'), candidate: hourly(1, 'other') },
    ])
    assert.deepEqual(await statuses(check, 6), [200, 200, 429, 429, 429, 429])
    assert.deepEqual(check.trials().candidates, {
      api: { bothAdmitted: 2, bothDenied: 2, onlyLiveDenied: 2, onlyCandidateDenied: 0 },
      other: { bothAdmitted: 1, bothDenied: 0, onlyLiveDenied: 0, onlyCandidateDenied: 5 },
    })
    assert.equal(await left(limiter, hourly(9, 'other')), 7)
  })

  test(`${store}: a limit that has two answers is compared by both`, async () => {
    const notes = legacy({ key: 'notes', max: 5, duration: 3_600_000, minInterval: 600_000, translation: 'exact' })
    const { check } = room([
      { limit: notes, candidate: hourly(9) },
      { limit: hourly(9), candidate: notes },
      { limit: hourly(8, 'shadow'), shadow: true },
    ])
    assert.deepEqual(await statuses(check, 2), [200, 429])
    assert.deepEqual(check.trials(), {
      shadow: { shadow: { admitted: 2, denied: 0 } },
      candidates: {
        notes: { bothAdmitted: 1, bothDenied: 0, onlyLiveDenied: 1, onlyCandidateDenied: 0 },
        api: { bothAdmitted: 1, bothDenied: 0, onlyLiveDenied: 0, onlyCandidateDenied: 1 },
      },
    })
  })

  test(`${store}: a charge that is given back is given back of what is tried as well`, async () => {
    const { limiter, check } = room([{ limit: hourly(5), candidate: hourly(7) }], { chargeOn: [401], cost: 2 })
    assert.deepEqual(await statuses(check, 1, 401), [401])
    assert.deepEqual(await statuses(check, 1, 200), [200])
    const candidate = hourly(7, 'api candidate')
    await eventually(
      async () => [await left(limiter, hourly(5)), await left(limiter, candidate)],
      ([live, tried]) => live === 3 && tried === 5,
    )
  })

  test(`${store}: an actual cost is that of the candidate too; what is tried shows in no answer`, async () => {
    const { limiter, check } = room(
      [
        { limit: hourly(50), candidate: hourly(70) },
        { limit: hourly(20, 'shadow'), shadow: true, cost: 1 },
      ],
      { cost: 10, headers: 'ietf' },
    )
    const { info, headers } = await check(new Request('http://localhost'))
    assert.deepEqual([info.key, info.binding, info.checks.length, info.checks[0]], ['api', 0, 1, info])
    assert.doesNotMatch(JSON.stringify([info, headers]), /candidate|shadow/)
    const settled = await limiter.settle(info, 30)
    assert.deepEqual([settled.remaining, settled.checks.length], [20, 1])
    const tried = [hourly(70, 'api candidate'), hourly(20, 'shadow')]
    assert.deepEqual(await Promise.all(tried.map((limit) => left(limiter, limit))), [40, 19])
    // A list has one cost for each enforced check.
    const next = await check(new Request('http://localhost'))
    assert.equal((await limiter.settle(next.info, [15])).remaining, 5)
    assert.deepEqual(await Promise.all(tried.map((limit) => left(limiter, limit))), [25, 18])
    await assert.rejects(limiter.settle(next.info, [1, 2]), { field: 'cost' })
  })

  test(`${store}: a limit that is enforced as well is charged once`, async () => {
    const { limiter, check } = room([{ limit: hourly(5), shadow: true, cost: 3 }, hourly(5)])
    assert.deepEqual(await statuses(check, 6), [200, 200, 200, 200, 200, 429])
    assert.deepEqual(check.trials().shadow, { api: { admitted: 5, denied: 1 } })
    assert.equal(await left(limiter, hourly(5)), 0)
  })

  test(`${store}: without an enforced limit the answer is that nothing is limited`, async () => {
    const strict = bucket({ key: 'strict', size: 1, dripRate: 3_600_000 })
    for (const headers of ['x', 'common', 'ietf', 'both']) {
      const { limiter, check } = room(strict, { shadow: true, headers })
      for (let request = 0; request < 3; request++) {
        const { info, headers, response } = await check(new Request('http://localhost'))
        assert.deepEqual([info.allowed, info.remaining, info.quota, info.key], [true, UNLIMITED, UNLIMITED, ''])
        assert.deepEqual([info.checks, headers, response], [[info], {}, undefined])
      }
      assert.deepEqual(check.trials().shadow.strict, { admitted: 1, denied: 2 })
      assert.equal(await left(limiter, strict), 0)
    }
  })

  test(`${store}: what limits in shadow mode are charged is settled and given back as if they were enforced`, async () => {
    const tokens = hourly(9, 'tokens')
    const { limiter, check } = room([tokens, hourly(8)], { shadow: true, chargeOn: [401], cost: 2 })
    assert.deepEqual(await statuses(check, 6, 200), Array(6).fill(200))
    assert.deepEqual(await statuses(check, 1, 401), [401])
    await eventually(
      async () => [await left(limiter, tokens), await left(limiter, hourly(8))],
      ([tokens, api]) => tokens === 7 && api === 6,
    )
    const { info } = await check(new Request('http://localhost'))
    await limiter.settle(info, 5)
    assert.deepEqual([await left(limiter, tokens), await left(limiter, hourly(8))], [2, 1])
  })
}

test('one script call decides a request, whatever each of its limits says', async () => {
  const limiter = stores.redis()
  const check = rateLimit({
    limiter,
    key: () => 'ada',
    limits: [
      { limit: hourly(2), candidate: hourly(4) },
      { limit: hourly(1, 'shadow'), shadow: true },
      { limit: hourly(3, 'other'), candidate: hourly(1, 'other') },
    ],
  })
  await limiter.ping()
  const calls = async () => {
    const stats = await redis.command('INFO', 'commandstats')
    return [...stats.matchAll(/cmdstat_(?:evalsha|eval|fcall)\w*:calls=(\d+)/g)].reduce((sum, [, n]) => sum + +n, 0)
  }
  const before = await calls()
  assert.ok(before > 0)
  assert.deepEqual(await statuses(check, 6), [200, 200, 429, 429, 429, 429])
  assert.equal((await calls()) - before, 6)
})

test('a store that cannot decide fails no request that is only watched', async () => {
  const limiter = new Limiter(`redis://127.0.0.1:${await freePort()}`, { timeoutMs: 50, onError: 'raise' })
  const check = rateLimit({ limiter, key: () => 'ada', limits: hourly(1), shadow: true, silence: 'store-unreachable' })
  const { info } = await check(new Request('http://localhost'))
  assert.deepEqual([info.allowed, info.remaining], [true, UNLIMITED])
  assert.deepEqual(await statuses(check, 2), [200, 200])
  assert.deepEqual(check.trials().shadow, {})
})

test('a candidate beside a limit in shadow mode is refused, as there is nothing that it might replace', () => {
  const message = /^limit "api": candidate needs a limit that is enforced beside it, got "5\/minute"$/
  const rule = { limit: '9/minute', name: 'api', shadow: true, candidate: '5/minute' }
  assert.throws(() => rateLimit({ limits: rule }), { message })
  const whole = { limits: '9/minute', name: 'api', shadow: true, candidate: '5/minute' }
  assert.throws(() => rateLimit(whole), { message })
})
