/** Functions of an app that a limit calls: what they throw, and what they answer with. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import express5 from 'express'
import express4 from 'express4'
import Fastify from 'fastify'
import { Limiter, tokenBucket } from 'tidegate'
import { rateLimit as forExpress } from 'tidegate/express'
import forFastify from 'tidegate/fastify'
import { Clock } from 'tidegate/testing'
import { eventually } from '../../node/server.mjs'
import { apps, get, listening, several } from './apps.mjs'

const limits = () => tokenBucket({ key: 'api', count: 1, period: 3_600_000 })
const remaining = ({ headers }) => headers.get('x-ratelimit-remaining')
const texts = (responses) => responses.map(({ status, text }) => `${status} ${text}`)
const statuses = (responses) => responses.map(({ status }) => status)

/** Values that are thrown in place of an error: nothing, and two words that are orders to Express. */
const NO_ERRORS = [undefined, null, false, '', 0, 'route', 'router']
const throwing = (reason) => () => {
  throw reason
}
/** A promise that is none of the language's own: its `then` returns nothing. */
// biome-ignore lint/suspicious/noThenProperty: it is what is tested.
const thenable = (value) => ({ then: (resolve) => void setImmediate(resolve, value) })

for (const [framework, make] of Object.entries(apps)) {
  test(`${framework}: a function that throws what is no error lets no request pass`, async () => {
    for (const option of ['key', 'skip', 'limits', 'cost', 'factor']) {
      let failing
      const app = await make({ limits: limits(), [option]: () => failing() })
      for (const reason of NO_ERRORS) {
        for (failing of [throwing(reason), () => Promise.reject(reason)]) {
          assert.equal((await get(app.url)).status, 500, `${option}: ${failing}, ${JSON.stringify(reason)}`)
        }
      }
    }
  })

  test(`${framework}: a promise that rejects after another function has thrown ends no process`, async () => {
    const unhandled = []
    const note = (reason) => unhandled.push(reason)
    process.on('unhandledRejection', note)
    const rejecting = async () => {
      throw new TypeError('no user')
    }
    const unreadable = throwing(new TypeError('no items'))
    const second = { limit: '9/minute', name: 'second', key: throwing(new Error('no plan')) }
    try {
      for (const [options, status] of [
        [{ key: rejecting, cost: unreadable }, 400],
        [{ key: rejecting, factor: throwing(new Error('no factor')) }, 500],
        [{ cost: rejecting, factor: throwing(new Error('no factor')) }, 500],
        [{ limits: [{ limit: limits(), key: rejecting }, second] }, 500],
      ]) {
        assert.equal((await get((await make({ limits: limits(), ...options })).url)).status, status)
      }
      const added = await make({ limits: async () => rejecting() }, { route: unreadable })
      assert.equal((await get(added.url, '/route')).status, 500)
      await new Promise(setImmediate)
      assert.deepEqual(unhandled, [])
    } finally {
      process.off('unhandledRejection', note)
    }
  })

  test(`${framework}: a cost that cannot be read is told once, also where each request has a function of its own`, async (context) => {
    const warned = context.mock.method(process, 'emitWarning', () => {})
    const { url } = await make({ limits: () => ({ limit: limits(), cost: () => JSON.parse('{') }) })
    assert.deepEqual(statuses(await several(3, url)), [400, 400, 400])
    const codes = warned.mock.calls.map(({ arguments: [, options] }) => options?.code)
    assert.deepEqual(
      codes.filter((code) => code === 'TIDEGATE_COST'),
      ['TIDEGATE_COST'],
    )
  })

  test(`${framework}: a cost that a function leaves out is not usable, and a factor an error of the program`, async () => {
    for (const nothing of [undefined, null]) {
      for (const given of [limits(), [limits(), '9/hour'], { limit: limits(), candidate: '9/hour' }]) {
        for (const [option, status] of [
          ['cost', 400],
          ['factor', 500],
        ]) {
          for (const answer of [() => nothing, async () => nothing]) {
            const limiter = new Limiter()
            const { url } = await make({ limiter, limits: given, [option]: answer })
            assert.equal((await get(url)).status, status, `${option}: ${nothing}`)
            assert.equal(limiter.entries, 0)
          }
        }
      }
    }
  })

  test(`${framework}: functions may answer with promises of any library`, async () => {
    const { url } = await make({
      limits: () => thenable(limits()),
      skip: () => thenable(false),
      key: () => thenable('ada'),
      cost: () => thenable(1),
      factor: () => thenable(1),
      chargeOn: () => thenable(true),
    })
    assert.deepEqual(statuses(await several(2, url)), [200, 429])
  })

  test(`${framework}: a chargeOn that fails is told, and the charge stays`, async (context) => {
    const warned = context.mock.method(process, 'emitWarning', () => {})
    const told = () => warned.mock.calls.filter(({ arguments: [warning] }) => warning?.message === 'on purpose').length
    for (const chargeOn of [throwing(new Error('on purpose')), async () => throwing(new Error('on purpose'))()]) {
      const before = told()
      const { url } = await make({ limits: limits(), chargeOn })
      assert.deepEqual(statuses(await several(2, url)), [200, 429])
      assert.equal(await eventually(told, (times) => times > before), before + 1)
    }
  })
}

for (const [name, express] of Object.entries({ express4, express5 })) {
  test(`${name}: a refused request does not pass where onBlocked throws what is no error`, async () => {
    for (const reason of NO_ERRORS) {
      for (const onBlocked of [throwing(reason), () => Promise.reject(reason)]) {
        const app = express().set('env', 'test')
        app.use(forExpress({ limiter: new Limiter({ clock: new Clock() }), limits: limits(), onBlocked }))
        app.get('/', (_request, response) => response.send('hello'))
        const [, refused] = await several(2, await listening(app.listen(0, '127.0.0.1')))
        assert.deepEqual([refused.status, refused.text.includes('hello')], [500, false])
      }
    }
  })
}

test('fastify: a refused request does not pass where onBlocked throws what is no error', async () => {
  for (const reason of NO_ERRORS) {
    for (const onBlocked of [throwing(reason), () => Promise.reject(reason)]) {
      const app = Fastify()
      await app.register(forFastify, { limiter: new Limiter({ clock: new Clock() }), limits: limits(), onBlocked })
      const hook = app.rateLimit({ limits: tokenBucket({ key: 'hook', count: 1, period: 3_600_000 }) })
      app.get('/', () => 'hello')
      app.get('/hook', { config: { rateLimit: false } }, async (request, reply) => {
        await hook(request, reply)
        return 'hello'
      })
      for (const url of ['/', '/hook']) {
        await app.inject(url)
        const refused = await app.inject(url)
        assert.deepEqual([refused.statusCode, refused.body.includes('hello')], [500, false], `${url} ${reason}`)
      }
    }
  }
})

/** The frameworks that have the option. */
const answering = Object.entries(apps).filter(([name]) => !name.startsWith('nest') && name !== 'web')

for (const [framework, make] of answering) {
  const standing = () => ({ limiter: new Limiter({ clock: new Clock() }), limits: limits() })

  test(`${framework}: a refused request does not hang where onBlocked only writes a log`, async () => {
    const [, usual] = await several(2, (await make(standing())).url)
    const log = []
    for (const onBlocked of [
      (info) => void log.push(info.key),
      async (info) => void log.push(info.key),
      (...given) => void log.push(given[0].key),
    ]) {
      const [, refused] = await several(2, (await make({ ...standing(), onBlocked })).url)
      assert.deepEqual([refused.status, refused.text], [429, usual.text])
      assert.deepEqual([refused.headers.get('retry-after'), remaining(refused)], ['3600', '0'])
    }
    assert.deepEqual(log, ['api', 'api', 'api'])
  })

  test(`${framework}: what onBlocked throws is an error like any other, and no refusal`, async () => {
    const secret = Object.assign(new Error('the password of the database'), { expose: false })
    for (const onBlocked of [throwing(secret), () => Promise.reject(secret)]) {
      const [, failed] = await several(2, (await make({ ...standing(), onBlocked })).url)
      assert.equal(failed.status, 500)
      // Fastify shows the message of any error, and Express that of any in development.
      if (!/fastify|express/.test(framework)) assert.doesNotMatch(failed.text, /password/)
    }
  })

  test(`${framework}: a request is answered where onBlocked throws what is no error`, async () => {
    for (const onBlocked of [throwing(undefined), () => Promise.reject()]) {
      const [, failed] = await several(2, (await make({ ...standing(), onBlocked })).url)
      // By the handler of errors that the app or its framework has.
      assert.deepEqual([failed.status, failed.text === ''], [500, false])
    }
  })

  test(`${framework}: onBlocked may redirect, without a status and without the headers of a refusal`, async () => {
    // The response of Express and the reply of Fastify are the third argument, and a context is the second.
    const onBlocked = (_info, first, second) => (second?.redirect ? second : first).redirect('/wait')
    const [, { status, headers }] = await several(2, (await make({ ...standing(), onBlocked })).url)
    assert.deepEqual([status, headers.get('location')], [302, '/wait'])
    for (const name of ['retry-after', 'x-ratelimit-limit', 'cache-control'])
      assert.equal(headers.get(name), null, name)
  })
}

test('express: a function that takes the response may answer later, and has not forever', async (context) => {
  for (const express of [express4, express5]) {
    const answers = {
      '/template': (_info, _request, response) => void setImmediate(() => response.send('later')),
      '/next': (_info, _request, _response, next) => void setImmediate(next),
      '/never': (_info, _request, _response) => {},
      '/never/async': async (_info, _request, _response) => {},
    }
    const app = express().set('env', 'production')
    for (const [path, onBlocked] of Object.entries(answers)) {
      const limit = forExpress({ limiter: new Limiter({ clock: new Clock() }), limits: limits(), onBlocked })
      app.get(path, limit, (_request, response) => response.send('hello'))
    }
    const url = await listening(app.listen(0, '127.0.0.1'))
    const { setTimeout } = globalThis
    for (const path of Object.keys(answers)) await get(url, path)
    assert.deepEqual(texts(await several(1, url, '/template')), ['429 later'])
    assert.deepEqual(texts(await several(1, url, '/next')), ['429 hello'])
    for (const path of ['/never', '/never/async']) {
      const waits = []
      context.mock.method(globalThis, 'setTimeout', (call, ms, ...more) => {
        if (ms !== 10_000) return setTimeout(call, ms, ...more)
        waits.push(ms)
        return setTimeout(call, 0)
      })
      const [refused] = await several(1, url, path)
      context.mock.restoreAll()
      assert.deepEqual([refused.status, refused.headers.get('retry-after'), waits], [429, '3600', [10_000]])
    }
  }
})

test('fastify: a handler that waits for a limit does not go on where onBlocked has not answered', async () => {
  for (const onBlocked of [() => {}, async () => {}]) {
    const app = Fastify()
    await app.register(forFastify, { limiter: new Limiter({ clock: new Clock() }), limits: limits(), onBlocked })
    const hook = app.rateLimit({ limits: tokenBucket({ key: 'hook', count: 1, period: 3_600_000 }) })
    app.get('/', { config: { rateLimit: false } }, async (request, reply) => {
      await hook(request, reply)
      return 'hello'
    })
    await app.inject('/')
    const { statusCode, body } = await app.inject('/')
    assert.deepEqual([statusCode, JSON.parse(body).code], [429, 'ERR_RATE_LIMITED'])
  }
})
