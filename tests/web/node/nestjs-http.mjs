/** The module for NestJS over its two platforms, over real HTTP; each version of NestJS imports this. */

import 'reflect-metadata'
import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { after, test } from 'node:test'
import { Catch, Controller, Get, HttpCode, HttpException, Module, Req } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { ExpressAdapter } from '@nestjs/platform-express'
import { FastifyAdapter } from '@nestjs/platform-fastify'
import { Limiter } from 'tidegate'
import { RateLimit, RateLimitException, SkipRateLimit, TidegateGuard, TidegateModule } from 'tidegate/nestjs'
import { RedisServer } from '../../node/server.mjs'
import { get, several } from './apps.mjs'
import { decorate } from './decorate.mjs'

const redis = await RedisServer.start()
let names = 0
const limiters = {
  memory: () => new Limiter(),
  redis: () => new Limiter(redis.url, { timeoutMs: 5000, onError: 'raise', namespace: `nest${names++}` }),
}
const platforms = {
  express: () => new ExpressAdapter(),
  fastify: () => new FastifyAdapter({ forceCloseConnections: true }),
}
const statuses = (answers) => answers.map(({ status }) => status)
const left = (answers) => answers.map(({ headers }) => headers.get('x-ratelimit-remaining'))

/** Routes with limits of every kind; new classes for each app. */
function controllers() {
  class Notes {
    list() {
      return 'notes'
    }
    info(request) {
      return request.rateLimit.key
    }
    strict() {
      return 'strict'
    }
    added() {
      return 'added'
    }
    free() {
      return 'free'
    }
    left(request) {
      return JSON.stringify(request.rateLimit.remaining)
    }
    fails() {
      throw new HttpException('on purpose', 418)
    }
    login() {
      return 'login'
    }
  }
  Req()(Notes.prototype, 'info', 0)
  decorate(Notes, 'list', Get())
  Req()(Notes.prototype, 'left', 0)
  decorate(Notes, 'info', Get('info'), RateLimit('5/minute'))
  decorate(Notes, 'left', Get('left'))
  decorate(Notes, 'strict', Get('strict'), RateLimit('1/minute'))
  decorate(Notes, 'added', Get('added'), RateLimit({ limits: '2/hour', adds: true }))
  decorate(Notes, 'free', Get('free'), SkipRateLimit())
  decorate(Notes, 'fails', Get('fails'))
  decorate(Notes, 'login', Get('login'), HttpCode(200), RateLimit({ limits: '1/minute', chargeOn: [401] }))
  Controller('notes')(Notes)
  class Health {
    one() {
      return 'one'
    }
    two() {
      return 'two'
    }
    limited() {
      return 'limited'
    }
  }
  decorate(Health, 'one', Get('one'))
  decorate(Health, 'two', Get('two'))
  decorate(Health, 'limited', Get('limited'), RateLimit('1/minute'))
  Controller('skipped')(Health)
  SkipRateLimit()(Health)
  class Shared extends Health {}
  Controller('shared')(Shared)
  RateLimit('2/minute')(Shared)
  return [Notes, Health, Shared]
}

async function served(platform, imported, filter) {
  class App {}
  Module({ imports: [imported], controllers: controllers() })(App)
  const app = await NestFactory.create(App, platforms[platform](), { logger: false, abortOnError: false })
  if (filter) app.useGlobalFilters(filter(app))
  await app.listen(0, '127.0.0.1')
  after(() => app.close())
  return { app, url: `http://127.0.0.1:${app.getHttpServer().address().port}` }
}

for (const platform of Object.keys(platforms)) {
  for (const [store, limiterOf] of Object.entries(limiters)) {
    const on = `${platform}, ${store}`

    test(`${on}: headers on answers and errors, and a plain Retry-After`, async () => {
      const { url } = await served(platform, TidegateModule.forRoot({ limiter: limiterOf(), limits: '3/hour' }))
      const answers = [await get(url, '/notes'), await get(url, '/notes/fails'), ...(await several(2, url, '/notes'))]
      assert.deepEqual(statuses(answers), [200, 418, 200, 429])
      assert.deepEqual(left(answers), ['2', '1', '0', '0'])
      const refused = answers[3]
      assert.match(refused.headers.get('retry-after'), /^1[12]\d\d$/)
      assert.equal(refused.headers.get('cache-control'), 'no-store')
      assert.equal(JSON.parse(refused.text).statusCode, 429)
      assert.match(JSON.parse(refused.text).message, /^Too many requests, retry in \d+ seconds$/)
      assert.deepEqual(
        [...answers[0].headers.keys()].filter((name) => name.startsWith('retry')),
        [],
      )
    })

    test(`${on}: one decision for all limits: what one refuses, the others do not charge`, async () => {
      const limiter = limiterOf()
      const { url } = await served(platform, TidegateModule.forRoot({ limiter, limits: '5/hour', name: 'all' }))
      assert.deepEqual(statuses(await several(4, url, '/notes/added')), [200, 200, 429, 429])
      assert.deepEqual(left([await get(url, '/notes')]), ['2'])
    })

    test(`${on}: a key, a cost, a factor and requests that are skipped`, async () => {
      const options = {
        limiter: limiterOf(),
        limits: '10/hour',
        key: async ({ headers }) => headers['x-user'],
        cost: ({ headers }) => Number(headers['x-cost'] ?? 1),
        factor: ({ headers }) => (headers['x-user'] === 'gold' ? 0.5 : 1),
        skip: ({ headers }) => headers['x-skip'] !== undefined,
        headers: 'common',
      }
      const { url } = await served(platform, TidegateModule.forRoot(options))
      const answers = []
      for (const headers of [
        { 'x-user': 'ada' },
        { 'x-user': 'ada', 'x-cost': '4' },
        { 'x-user': 'gold' },
        { 'x-user': 'ada', 'x-skip': '1' },
        {}, // the client's address
      ]) {
        answers.push(await get(url, '/notes', { headers }))
      }
      assert.deepEqual(left(answers), ['9', '5', '19', null, '9'])
      const quotas = answers.map(({ headers }) => headers.get('x-ratelimit-limit'))
      assert.deepEqual(quotas, ['10', '10', '20', null, '10'])
      assert.equal((await get(url, '/notes', { headers: { 'x-cost': '21' } })).status, 413)
    })

    test(`${on}: shadow limits and candidates are counted, and never refuse`, async () => {
      const limits = [
        { limit: '3/hour', name: 'api', candidate: '1/hour' },
        { limit: '2/hour', name: 'strict', shadow: true },
      ]
      const { app, url } = await served(platform, TidegateModule.forRoot({ limiter: limiterOf(), limits }))
      assert.deepEqual(statuses(await several(4, url, '/notes')), [200, 200, 200, 429])
      assert.deepEqual(app.get(TidegateGuard).trials(), {
        shadow: { strict: { admitted: 2, denied: 2 } },
        candidates: { api: { bothAdmitted: 1, bothDenied: 1, onlyLiveDenied: 0, onlyCandidateDenied: 2 } },
      })
      const shadow = TidegateModule.forRoot({ limiter: limiterOf(), limits: '1/hour', shadow: true })
      const answers = await several(2, (await served(platform, shadow)).url, '/notes/left')
      for (const { status, text } of answers) assert.deepEqual([status, Number(text)], [200, 2 ** 53 - 1])
      assert.deepEqual(left(answers), [null, null])
    })

    test(`${on}: totals are exact`, async () => {
      const { url } = await served(platform, TidegateModule.forRoot({ limiter: limiterOf(), limits: '20/hour' }))
      const answers = await Promise.all(Array.from({ length: 50 }, () => get(url, '/notes')))
      assert.equal(statuses(answers).filter((status) => status === 200).length, 20)
    })
  }

  test(`${platform}: routes and controllers say otherwise; the nearest counts`, async () => {
    const { url } = await served(platform, TidegateModule.forRoot({ limits: '1/hour' }))
    assert.deepEqual(statuses(await several(2, url, '/notes/strict')), [200, 429])
    assert.equal((await get(url, '/notes/info')).text, 'GET /notes/info')
    const free = await several(3, url, '/notes/free')
    assert.deepEqual(
      [statuses(free), left(free)],
      [
        [200, 200, 200],
        [null, null, null],
      ],
    )
    assert.deepEqual(statuses(await several(3, url, '/skipped/one')), [200, 200, 200])
    assert.deepEqual(statuses(await several(2, url, '/skipped/limited')), [200, 429])
    // A controller's routes count together.
    const shared = [await get(url, '/shared/one'), await get(url, '/shared/two'), await get(url, '/shared/one')]
    assert.deepEqual(statuses(shared), [200, 200, 429])
    assert.deepEqual(statuses(await several(4, url, '/notes/login')), [200, 200, 200, 200])
    assert.deepEqual(statuses(await several(2, url, '/notes')), [200, 429])
  })

  test(`${platform}: a module without limits, for routes that have their own`, async () => {
    const { url } = await served(platform, TidegateModule.forRoot({ global: false }))
    assert.deepEqual(statuses(await several(2, url, '/notes')), [200, 200])
    assert.deepEqual(statuses(await several(2, url, '/notes/strict')), [200, 429])
  })

  test(`${platform}: options of other providers, a key, and only the routes that ask`, async () => {
    const useFactory = async (limits) => ({ limits, global: false, key: (request) => request.headers['x-user'] })
    class Settings {}
    Module({ providers: [{ provide: 'limits', useValue: '1/hour' }], exports: ['limits'] })(Settings)
    const imported = TidegateModule.forRootAsync({ imports: [Settings], inject: ['limits'], useFactory })
    const { app, url } = await served(platform, imported)
    assert.ok(app.get(TidegateGuard) instanceof TidegateGuard)
    assert.deepEqual(left(await several(2, url, '/notes')), [null, null])
    const as = (user) => get(url, '/notes/strict', { headers: { 'x-user': user } })
    assert.deepEqual(statuses([await as('ada'), await as('bob'), await as('ada')]), [200, 200, 429])
  })

  test(`${platform}: limits that are added go beside those of the controller, where it has some`, async () => {
    const classes = ['Own', 'Added', 'Free'].map((name) => ({ [name]: class {} })[name])
    for (const target of classes) {
      for (const [method, ...more] of [
        ['plain'],
        ['beside', RateLimit({ limits: '2/day', adds: true })],
        ['alone', RateLimit('3/day')],
      ]) {
        const { [method]: value } = {
          [method]: ({ rateLimit }) => rateLimit?.checks.map(({ key }) => key).join() ?? 'none',
        }
        Object.defineProperty(target.prototype, method, { value, configurable: true, writable: true })
        Req()(target.prototype, method, 0)
        decorate(target, method, Get(method), ...more)
      }
      Controller(target.name)(target)
    }
    const [Own, Added, Free] = classes
    RateLimit('9/hour')(Own)
    RateLimit({ limits: '9/hour', adds: true })(Added)
    SkipRateLimit()(Free)
    class App {}
    const imports = [TidegateModule.forRoot({ limits: { key: 'all', type: 'bucket', size: 99 } })]
    Module({ imports, controllers: classes })(App)
    const app = await NestFactory.create(App, platforms[platform](), { logger: false })
    after(() => app.close())
    await app.listen(0, '127.0.0.1')
    const url = `http://127.0.0.1:${app.getHttpServer().address().port}`
    for (const [path, keys] of [
      ['/Own/plain', 'Own'],
      ['/Own/beside', 'Own,GET /Own/beside'],
      ['/Own/alone', 'GET /Own/alone'],
      ['/Added/plain', 'all,Added'],
      ['/Added/beside', 'all,Added,GET /Added/beside'],
      ['/Added/alone', 'GET /Added/alone'],
      ['/Free/plain', 'none'],
      ['/Free/beside', 'GET /Free/beside'],
      ['/Free/alone', 'GET /Free/alone'],
    ]) {
      assert.equal((await get(url, path)).text, keys, path)
    }
  })

  test(`${platform}: a filter sees the exception, and the headers are there`, async () => {
    const seen = []
    class Filter {
      constructor(app) {
        this.app = app
      }
      catch(exception, host) {
        seen.push(exception)
        this.app.getHttpAdapter().reply(host.switchToHttp().getResponse(), 'slow down', 503)
      }
    }
    Catch(RateLimitException)(Filter)
    const { url } = await served(platform, TidegateModule.forRoot({ limits: '1/hour' }), (app) => new Filter(app))
    const [, refused] = await several(2, url, '/notes')
    assert.deepEqual([refused.status, refused.text], [503, 'slow down'])
    assert.match(refused.headers.get('retry-after'), /^3[56]\d\d$/)
    assert.ok(seen[0] instanceof RateLimitException)
    assert.equal(seen[0].info.blocked, true)
  })
}

test('contexts of other kinds pass, unless the app says what their request is', async () => {
  class Handler {
    handle() {}
  }
  const context = { getType: () => 'rpc', getClass: () => Handler, getHandler: () => Handler.prototype.handle }
  const guardOf = async (options) => {
    const { app } = await served('express', TidegateModule.forRoot(options))
    return app.get(TidegateGuard)
  }
  const open = await guardOf({ limits: '1/hour' })
  for (let message = 0; message < 3; message++) assert.equal(open.canActivate({ ...context }), true)
  const getRequest = (context, found) => (context.getType() === 'rpc' ? { tenant: 'ada' } : found)
  const guard = await guardOf({ limits: '1/hour', getRequest, key: ({ tenant }) => tenant })
  assert.equal(guard.canActivate({ ...context }), true)
  assert.throws(() => guard.canActivate({ ...context }), RateLimitException)
})

test('mistakes are named when the app is made', async () => {
  const made = (options) => served('express', TidegateModule.forRoot(options))
  await assert.rejects(made({ limits: '1/hour', max: 1 }), /max is not an option of a rate limit/)
  await assert.rejects(made({}), /limits must be given/)
  await assert.rejects(made({ limits: '1/hour', body: 'json' }), /body must be left to an exception filter/)
  await assert.rejects(made({ limits: '1/hour', global: 1 }), /global must be a boolean/)
  await assert.rejects(made({ limits: '1/hour', getRequest: 1 }), /getRequest must be a function/)
})

test('the same classes through require', () => {
  const required = createRequire(import.meta.url)('tidegate/nestjs')
  assert.equal(required.TidegateModule, TidegateModule)
  assert.equal(required.RateLimit, RateLimit)
})
