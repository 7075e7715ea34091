/** The same behaviour in every framework, over real HTTP, in memory and on Redis. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { clientOf, Limiter, tokenBucket } from 'tidegate'
import { Clock } from 'tidegate/testing'
import { eventually, freePort, RedisServer } from '../../node/server.mjs'
import { apps, get, headerOf, several } from './apps.mjs'

const redis = await RedisServer.start()
let names = 0
/** A limiter of each kind, with entries of its own. */
const stores = {
  memory: () => new Limiter(),
  redis: () => new Limiter(redis.url, { timeoutMs: 5000, onError: 'raise', namespace: `rooms${names++}` }),
}
const hourly = (count, key = 'api') => tokenBucket({ key, count, period: 3_600_000 })
const statuses = (responses) => responses.map(({ status }) => status)
/** True of a failed login; the last argument has the status, or holds what has it. */
const isFailure = (...outcome) => {
  const last = outcome.at(-1)
  return (last.res?.status ?? last.res?.statusCode ?? last.statusCode ?? last.status) === 401
}
/** Options whose functions are methods. */
class Methods {
  limits = '5/minute'
  key() {
    return 'ada'
  }
}
const remaining = ({ headers }) => headers.get('x-ratelimit-remaining')

for (const [framework, make] of Object.entries(apps)) {
  test(`${framework}: a store that cannot decide is an error with status 503, where it is to be one`, async () => {
    const url = `redis://user:secret@127.0.0.1:${await freePort()}`
    const limiter = new Limiter(url, { timeoutMs: 50, onError: 'raise' })
    const app = await make({ limiter, limits: hourly(5), silence: 'store-unreachable' })
    const response = await get(app.url)
    assert.equal(response.status, framework === 'web' ? 500 : 503)
    assert.doesNotMatch(response.text, /secret/)
    await limiter.close()
    assert.equal((await get(app.url)).status, framework === 'web' ? 500 : 503)
  })

  for (const [store, limiterOf] of Object.entries(stores)) {
    const on = `${framework}, ${store}`

    test(`${on}: an actor that cannot be one is a bad request`, async () => {
      const limiter = limiterOf()
      // As a client may have it in JSON: half of a surrogate pair, or too much of it.
      const long = BigInt('9'.repeat(65_537))
      const names = ['ada\ud800', 'é'.repeat(32_769), long, 'ada\ufffd', 'é'.repeat(32_768), long / 10n]
      const app = await make({ limiter, limits: [hourly(5), hourly(9, 'more')], key: () => names[0] })
      for (const status of [400, 400, 400, 200, 200, 200]) {
        const response = await get(app.url)
        assert.equal(response.status, status, `${names[0]}`.slice(0, 9))
        assert.equal(remaining(response), status === 200 ? '4' : null)
        if (status !== 200) assert.equal(limiter.entries, 0)
        names.shift()
      }
    })

    test(`${on}: headers on every response but redirections; the refusal says when to come back`, async () => {
      const { url } = await make({ limiter: limiterOf(), limits: hourly(5) })
      const left = []
      for (const [path, status] of [
        ['/', 200],
        ['/stream', 200],
        ['/error', 500],
        ['/redirect', 302],
        ['/login', 401],
      ]) {
        const response = await get(url, path)
        assert.equal(response.status, status, path)
        left.push(remaining(response))
        assert.equal(response.headers.get('x-ratelimit-reset') === null, path === '/redirect', path)
        assert.equal(response.headers.get('retry-after'), null)
      }
      assert.deepEqual(left, ['4', '3', '2', null, '0'])

      const refused = await get(url)
      assert.equal(refused.status, 429)
      assert.equal(remaining(refused), '0')
      assert.match(refused.headers.get('retry-after'), /^7[12]\d$/)
      assert.equal(refused.headers.get('cache-control'), 'no-store')
      if (framework.startsWith('nest')) {
        assert.equal(JSON.parse(refused.text).statusCode, 429)
      } else if (framework === 'fastify') {
        assert.equal(JSON.parse(refused.text).code, 'ERR_RATE_LIMITED')
      } else {
        assert.equal(refused.headers.get('content-type'), 'application/problem+json')
        if (framework !== 'web') assert.equal(Number(refused.headers.get('content-length')), refused.text.length)
        assert.equal(JSON.parse(refused.text).status, 429)
      }
      const head = await get(url, '/', { method: 'HEAD' })
      assert.deepEqual([head.status, head.text], [429, ''])
    })

    test(`${on}: concurrent requests are counted exactly`, async () => {
      const { url } = await make({ limiter: limiterOf(), limits: [hourly(20), hourly(30, 'other')] })
      const responses = await Promise.all(Array.from({ length: 40 }, () => get(url)))
      assert.equal(responses.filter(({ status }) => status === 200).length, 20)
      assert.equal(responses.filter(({ status }) => status === 429).length, 20)
    })

    test(`${on}: limits that a route adds have their own skip and chargeOn, and those of the app theirs`, async () => {
      const login = hourly(5, 'login')
      const all = [hourly(9), login]
      const isRoute = (given) => /\/route$/.test(given.path ?? given.url ?? given.req.url)
      for (const [options, route, expected] of [
        [{}, { chargeOn: [401] }, [8, 5]],
        [{ chargeOn: [401] }, { chargeOn: () => true }, [9, 4]],
        [{ chargeOn: [401] }, {}, [9, 5]],
        [{}, { skip: () => true }, [8, 5]],
        [{ skip: isRoute }, { skip: async () => false }, [9, 4]],
        [{ skip: isRoute }, {}, [9, 5]],
      ]) {
        const limiter = limiterOf()
        const { url } = await make({ limiter, limits: hourly(9), ...options }, { route: { limits: login, ...route } })
        assert.equal((await get(url, '/route')).status, 200)
        const client = clientOf('127.0.0.1')
        const left = async () => {
          const each = await Promise.all(all.map((limit) => limiter.peek(limit, client)))
          return each.map(({ remaining }) => remaining).join()
        }
        await eventually(left, (left) => left === expected.join())
      }
    })

    test(`${on}: a key or a cost that a client has chosen is never an error of the server, and is not logged`, async () => {
      const logged = []
      const { error } = console
      console.error = (...given) => logged.push(given)
      const warned = ({ code }) => logged.push(code)
      process.on('warning', warned)
      try {
        const read = (name) => (request) => JSON.parse(headerOf(request, name) ?? 'null')
        const { url } = await make({
          limiter: limiterOf(),
          limits: [hourly(10), hourly(90, 'more')],
          key: read('x-key'),
          cost: (request) => read('x-cost')(request) ?? 1,
        })
        const ask = async (headers) => {
          const { status, text } = await get(url, '/', { headers })
          assert.doesNotMatch(text, /secret/)
          return status
        }
        for (const cost of ['11', '1000', '1e30']) assert.equal(await ask({ 'x-cost': cost }), 413, cost)
        for (const cost of ['-1', '0.5', '"5"', '"secret"', '{}', '[1]', 'true']) {
          assert.equal(await ask({ 'x-cost': cost }), 400, cost)
        }
        for (const key of ['["ada","secret"]', '{}', 'true', '"\\ud800"']) {
          assert.equal(await ask({ 'x-key': key }), 400, key)
        }
        assert.equal(await ask({ 'x-key': '"ada"', 'x-cost': '10' }), 200)
        assert.deepEqual(logged, [])
        // It may be the program's mistake, so it is told once.
        for (const cost of ['secret', '{', '']) assert.equal(await ask({ 'x-cost': cost }), 400, cost)
        assert.deepEqual(logged, ['TIDEGATE_COST'])
      } finally {
        process.off('warning', warned)
        console.error = error
      }
    })

    test(`${on}: a key that looks like an address is not the client of that address`, async () => {
      const limiter = limiterOf()
      const { url } = await make({ limiter, limits: hourly(1), key: (request) => headerOf(request, 'x-user') })
      const user = { headers: { 'x-user': 'ip:127.0.0.1' } }
      assert.deepEqual(statuses(await several(2, url, '/', user)), [200, 429])
      assert.deepEqual(statuses(await several(2, url)), [200, 429])
      assert.equal((await limiter.peek(hourly(1), 'key:ip:127.0.0.1')).remaining, 0)
      assert.equal((await limiter.peek(hourly(1), clientOf('127.0.0.1'))).remaining, 0)
    })

    test(`${on}: a cost that a limit on trial could never admit refuses no request`, async () => {
      const cost = (request) => Number(headerOf(request, 'x-cost'))
      const limits = [
        { limit: hourly(10), candidate: '5/hour' },
        { limit: hourly(3, 'strict'), shadow: true },
      ]
      const { url, trials } = await make({ limiter: limiterOf(), limits, cost })
      const asked = []
      for (const cost of ['6', '2', '9']) asked.push(await get(url, '/', { headers: { 'x-cost': cost } }))
      assert.deepEqual(statuses(asked), [200, 200, 429])
      assert.deepEqual(trials(), {
        shadow: { strict: { admitted: 1, denied: 2 } },
        candidates: { api: { bothAdmitted: 1, bothDenied: 1, onlyLiveDenied: 0, onlyCandidateDenied: 1 } },
      })
      const shadow = await make({ limiter: limiterOf(), limits: hourly(1), shadow: true, cost })
      assert.equal((await get(shadow.url, '/', { headers: { 'x-cost': '2' } })).status, 200)
      assert.deepEqual(shadow.trials().shadow, { api: { admitted: 0, denied: 1 } })
    })

    test(`${on}: several keys, shadow limits and candidates are one round trip`, async () => {
      const { url, trials } = await make({
        limiter: limiterOf(),
        limits: [
          { limit: hourly(3, 'address'), candidate: { type: 'bucket', key: 'any', size: 1, dripRate: 3_600_000 } },
          { limit: '2/hour', name: 'everybody', key: () => 'all' },
          { limit: '1/hour', name: 'strict', shadow: true },
        ],
      })
      const responses = await several(3, url)
      assert.deepEqual(statuses(responses), [200, 200, 429])
      assert.deepEqual(responses.map(remaining), ['1', '0', '0'])
      await eventually(
        () => trials().shadow.strict,
        ({ admitted, denied }) => admitted === 1 && denied === 2,
      )
      // The second and the third request would have been blocked; the limit on the address had admitted both.
      assert.deepEqual(trials().candidates, {
        address: { bothAdmitted: 1, bothDenied: 0, onlyLiveDenied: 0, onlyCandidateDenied: 2 },
      })
    })

    test(`${on}: handlers find an answer where all limits are in shadow mode`, async () => {
      const limits = [hourly(1), hourly(2, 'other')]
      const { url, trials } = await make({ limiter: limiterOf(), limits, shadow: true })
      for (const { status, text, headers } of await several(3, url, '/left')) {
        assert.deepEqual([status, Number(text), headers.get('x-ratelimit-remaining')], [200, 2 ** 53 - 1, null])
      }
      assert.deepEqual(trials().shadow, { api: { admitted: 1, denied: 2 }, other: { admitted: 2, denied: 1 } })
    })
  }

  test(`${framework}: every style of headers, on responses and errors but not on redirections`, async () => {
    const [one, both] = [hourly(5), [hourly(5), hourly(50, 'more')]]
    const styles = {
      x: { 'x-ratelimit-remaining': '4', 'x-ratelimit-clear': '720' },
      common: { 'x-ratelimit-limit': '5', 'x-ratelimit-remaining': '4', 'x-ratelimit-reset': '720' },
      ietf: { ratelimit: '"api";r=4;t=720' },
      none: {},
    }
    for (const [headers, expected] of Object.entries(styles)) {
      // The fields of the IETF name every limit.
      for (const limits of headers === 'ietf' ? [one] : [one, both]) {
        const clock = new Clock()
        const { url } = await make({ limiter: new Limiter({ clock }), limits, headers })
        const shown = (response) =>
          Object.fromEntries([...response.headers].filter(([name]) => /ratelimit(?!-policy)/.test(name)))
        assert.deepEqual(shown(await get(url)), expected, headers)
        clock.advance(3_600_000)
        assert.deepEqual(shown(await get(url, '/error')), expected, headers)
        clock.advance(3_600_000)
        assert.deepEqual(shown(await get(url, '/redirect')), {}, headers)
      }
    }
  })

  test(`${framework}: the status and the body of a refusal, and the drafts of its headers`, async () => {
    const body = framework.startsWith('nest') ? {} : { body: 'text' }
    const options = { status: 503, headers: 'ietf', draft: 7, ...body }
    const limiter = new Limiter({ clock: new Clock() })
    const { url } = await make({ limiter, limits: hourly(1), ...options })
    const [first, refused] = await several(2, url)
    assert.equal(first.headers.get('ratelimit'), 'limit=1, remaining=0, reset=3600')
    assert.deepEqual([refused.status, refused.headers.get('retry-after')], [503, '3600'])
    if (body.body) assert.equal(refused.text, 'Rate limit exceeded. Retry in 3600 seconds.\n')
    else assert.equal(JSON.parse(refused.text).statusCode, 503)
    const epoch = { limiter: new Limiter(), limits: hourly(2), headers: 'common', reset: 'epoch' }
    const { headers } = await get((await make(epoch)).url)
    const seconds = Number(headers.get('x-ratelimit-reset')) - Date.now() / 1000
    assert.ok(seconds > 1700 && seconds < 1810, `${seconds}`)
  })

  test(`${framework}: a function says which outcomes stay charged`, async () => {
    const limiter = new Limiter()
    const { url } = await make({ limiter, limits: hourly(2), chargeOn: isFailure })
    const left = async (wanted) =>
      eventually(
        () => limiter.peek(hourly(2), clientOf('127.0.0.1')),
        ({ remaining }) => remaining === wanted,
      )
    for (const [path, wanted] of [
      ['/login?password', 2],
      ['/login', 1],
      ['/login?password', 1],
    ]) {
      await get(url, path)
      await left(wanted)
    }
  })

  test(`${framework}: limits that a function of the request gives; none is no limit`, async () => {
    const path = (given) => given.path ?? new URL(given.url ?? given.req.url, 'http://localhost').pathname
    const { url } = await make({
      limits: async (request) => (path(request) === '/' ? ['2/minute', '3/hour'] : undefined),
    })
    const responses = await several(3, url)
    assert.deepEqual(statuses(responses), [200, 200, 429])
    assert.equal(remaining(await get(url, '/login')), null)
  })

  test(`${framework}: a limit that is listed twice is charged once`, async () => {
    const { url } = await make({ limits: [hourly(3), hourly(3)] })
    assert.deepEqual((await several(4, url)).map(remaining), ['2', '1', '0', '0'])
  })

  test(`${framework}: time is the limiter's`, async () => {
    const clock = new Clock()
    const { url } = await make({ limiter: new Limiter({ clock }), limits: hourly(1) })
    assert.deepEqual(statuses(await several(2, url)), [200, 429])
    clock.advance(3_600_000)
    assert.equal((await get(url)).status, 200)
  })

  test(`${framework}: options that cannot be are refused when the app is made`, async () => {
    for (const [options, field] of [
      [{}, 'limits'],
      [{ limits: 5 }, 'limits'],
      [{ limits: [] }, 'limits'],
      [{ limits: '5/fortnight' }, 'limit'],
      [{ limits: '5/minute', limit: 5 }, 'limit'],
      [{ limits: { limit: '5/minute', keys: () => 'x' } }, 'keys'],
      [{ limits: { key: 'k', type: 'bucket', size: 0 } }, 'size'],
      [{ limits: '5/minute', key: 'ip' }, 'key'],
      [{ limits: '5/minute', cost: '1' }, 'cost'],
      [{ limits: '5/minute', cost: -1 }, 'cost'],
      [{ limits: '5/minute', cost: 1.5, factor: () => 1 }, 'cost'],
      [{ limits: '5/minute', cost: 6 }, 'cost'],
      [{ limits: '5/minute', cost: 2, candidate: '1/minute' }, 'cost'],
      [{ limits: ['5/minute', { limit: '5/second', name: 'second', cost: 6 }] }, 'cost'],
      [{ limits: '5/minute', factor: -1, cost: () => 1 }, 'factor'],
      [{ limits: '5/minute', factor: Number.NaN }, 'factor'],
      [{ limits: '5/minute', skip: true }, 'skip'],
      [{ limits: '5/minute', shadow: 1 }, 'shadow'],
      [{ limits: '5/minute', status: 200 }, 'status'],
      [{ limits: '5/minute', chargeOn: 401 }, 'chargeOn'],
      [{ limits: '5/minute', chargeOn: [99] }, 'chargeOn'],
      [{ limits: '5/minute', chargeOn: [] }, 'chargeOn'],
      [{ limits: '5/minute', limiter: 5 }, 'limiter'],
      // The URL in a variable of the environment that is not set.
      [{ limits: '5/minute', limiter: undefined }, 'limiter'],
      [{ limits: '5/minute', limiter: null }, 'limiter'],
      [{ limits: '5/minute', name: '' }, 'name'],
      [{ limits: ['5/minute', '5/second'], candidate: '5/hour' }, 'candidate'],
      [{ limits: '5/minute', candidate: [] }, 'candidate'],
      [{ limits: [hourly(1), hourly(2)] }, 'limits'],
      [new Methods(), 'key'],
      [Object.assign(Object.create({ shadow: true }), { limits: '5/minute' }), 'shadow'],
      [{ limits: Object.assign(Object.create({ cost: 2 }), { limit: '5/minute' }) }, 'cost'],
    ]) {
      await assert.rejects(
        async () => make(options),
        (error) => error.code === 'ERR_LIMIT' && (field === 'limit' || error.field === field),
        `${field}: ${JSON.stringify(options)}`,
      )
    }
  })
}
