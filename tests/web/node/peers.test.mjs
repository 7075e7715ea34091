/** Claims of the pages about other libraries for Node, run with the libraries themselves. */

import 'reflect-metadata'
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import forFastify from '@fastify/rate-limit'
import { Controller, Get, Module } from '@nestjs/common'
import { APP_GUARD, NestFactory } from '@nestjs/core'
import { ThrottlerGuard, ThrottlerModule, ThrottlerStorageService } from '@nestjs/throttler'
import express from 'express'
import { MemoryStore, rateLimit } from 'express-rate-limit'
import Fastify from 'fastify'
import { Hono } from 'hono'
import { rateLimiter } from 'hono-rate-limiter'
import { RateLimiterMemory, RateLimiterQueue, RateLimiterUnion, RLWrapperTimeouts } from 'rate-limiter-flexible'
import ExpressBruteFlexible from 'rate-limiter-flexible/lib/ExpressBruteFlexible.js'
import { listening, several } from './apps.mjs'
import { decorate } from './decorate.mjs'

const HOUR = 3_600_000
const statuses = (answers) => answers.map(({ status }) => status)

for (const [outer, inner] of [
  [2, 9],
  [9, 2],
]) {
  test(`@fastify/rate-limit: the limits of a nested instance add to those of the outer one, ${outer} and ${inner}`, async () => {
    const app = Fastify()
    await app.register(forFastify, { max: outer, timeWindow: HOUR })
    await app.register(async (nested) => {
      await nested.register(forFastify, { max: inner, timeWindow: HOUR })
      nested.get('/nested', () => 'hello')
    })
    const answers = []
    for (let call = 0; call < 3; call++) answers.push((await app.inject('/nested')).statusCode)
    assert.deepEqual(answers, [200, 200, 429])
    await app.close()
  })
}

test('@fastify/rate-limit: a full store in memory forgets the client whose last request is longest ago', async () => {
  const app = Fastify()
  await app.register(forFastify, { max: 1, cache: 2, keyGenerator: ({ headers }) => headers['x-user'] })
  app.get('/', () => 'hello')
  const ask = async (user) => (await app.inject({ url: '/', headers: { 'x-user': user } })).statusCode
  assert.deepEqual([await ask('ada'), await ask('ada'), await ask('bob'), await ask('eve')], [200, 429, 200, 200])
  assert.equal(await ask('ada'), 200)
  await app.close()
})

test('express-rate-limit: the first of two middlewares counts a request that the second one refuses', async () => {
  const app = express()
  const store = new MemoryStore()
  const options = { windowMs: HOUR, keyGenerator: () => 'ada', validate: false }
  app.use(rateLimit({ ...options, limit: 9, store }), rateLimit({ ...options, limit: 1 }))
  app.get('/', (_request, response) => response.send('hello'))
  const url = await listening(app.listen(0, '127.0.0.1'))
  assert.deepEqual(statuses(await several(3, url)), [200, 429, 429])
  assert.equal((await store.get('ada')).totalHits, 3)
})

test('hono-rate-limiter: it has no key of its own', async () => {
  const app = new Hono()
  app.use(rateLimiter({ limit: 1 }))
  app.get('/', (context) => context.text('hello'))
  app.onError((error, context) => context.text(error.message, 500))
  assert.equal((await app.request('/')).status, 500)
})

test('@nestjs/throttler: each throttler counts each route, until one of them refuses', async () => {
  class Notes {
    list() {
      return 'notes'
    }
    other() {
      return 'other'
    }
  }
  decorate(Notes, 'list', Get('notes'))
  decorate(Notes, 'other', Get('other'))
  Controller()(Notes)
  const storage = new ThrottlerStorageService()
  const hits = []
  const increment = storage.increment.bind(storage)
  storage.increment = (...given) => {
    hits.push(given[4])
    return increment(...given)
  }
  class App {}
  const throttlers = [
    { name: 'burst', ttl: HOUR, limit: 1 },
    { name: 'default', ttl: HOUR, limit: 9 },
  ]
  Module({
    imports: [ThrottlerModule.forRoot({ throttlers, storage })],
    controllers: [Notes],
    providers: [{ provide: APP_GUARD, useClass: ThrottlerGuard }],
  })(App)
  const app = await NestFactory.create(App, { logger: false })
  await app.listen(0, '127.0.0.1')
  after(() => app.close())
  const url = `http://127.0.0.1:${app.getHttpServer().address().port}`
  const answers = await several(2, url, '/notes')
  assert.deepEqual(statuses(answers), [200, 429])
  assert.deepEqual(statuses(await several(1, url, '/other')), [200])
  assert.deepEqual(hits, ['burst', 'default', 'burst', 'burst', 'default'])
  const { headers } = answers[1]
  assert.deepEqual([headers.get('retry-after'), headers.get('retry-after-burst')], [null, '3600'])
})

test('@nestjs/throttler: in its own memory each request lasts by itself', async (context) => {
  context.mock.timers.enable({ apis: ['Date', 'setInterval'], now: 1_750_000_000_000 })
  const storage = new ThrottlerStorageService()
  const hit = async () => (await storage.increment('ada', 60_000, 2, 0, 'default')).isBlocked
  assert.equal(await hit(), false)
  context.mock.timers.tick(40_000)
  assert.deepEqual([await hit(), await hit()], [false, true])
  context.mock.timers.tick(20_000)
  assert.deepEqual([await hit(), await hit()], [false, true])
  storage.onApplicationShutdown()
})

test('rate-limiter-flexible: a union charges what admits where another limiter refuses', async () => {
  const [one, many] = [1, 9].map((points) => new RateLimiterMemory({ points, duration: 60, keyPrefix: `${points}` }))
  const union = new RateLimiterUnion(many, one)
  await union.consume('ada')
  await assert.rejects(union.consume('ada'), (refused) => refused[1].consumedPoints === 2)
  assert.equal((await many.get('ada')).consumedPoints, 2)
})

test('rate-limiter-flexible: a wrapper has a timeout, and an insurance behind it', async () => {
  const insuranceLimiter = new RateLimiterMemory({ points: 1, duration: 60 })
  const hanging = new RateLimiterMemory({ points: 9, duration: 60 })
  hanging.consume = () => new Promise(() => {})
  const wrapped = new RLWrapperTimeouts({ limiter: hanging, insuranceLimiter, timeoutMs: 1 })
  assert.equal((await wrapped.consume('ada')).remainingPoints, 0)
})

test('rate-limiter-flexible: a queue waits in order, and actions may be spread', async (context) => {
  context.mock.timers.enable({ apis: ['Date', 'setTimeout'], now: 1_750_000_000_000 })
  const order = []
  const queue = new RateLimiterQueue(new RateLimiterMemory({ points: 1, duration: 1 }))
  const turns = [1, 2, 3].map((turn) => queue.removeTokens(1).then(() => order.push(turn)))
  const spread = new RateLimiterMemory({ points: 2, duration: 1, execEvenly: true })
  await spread.consume('ada')
  const later = spread.consume('ada').then(() => order.push('spread'))
  while (order.length < 4) {
    context.mock.timers.tick(100)
    await new Promise((resolve) => setImmediate(resolve))
  }
  await Promise.all([...turns, later])
  assert.deepEqual(
    order.filter((turn) => turn !== 'spread'),
    [1, 2, 3],
  )
})

test('rate-limiter-flexible: it ships a middleware for Express', async () => {
  const options = { freeRetries: 1, minWait: HOUR, maxWait: HOUR }
  const brute = new ExpressBruteFlexible(ExpressBruteFlexible.LIMITER_TYPES.MEMORY, options)
  const app = express()
  app.get('/', brute.prevent, (_request, response) => response.send('hello'))
  const url = await listening(app.listen(0, '127.0.0.1'))
  const [first, , third] = statuses(await several(3, url))
  assert.deepEqual([first, third], [200, 429])
})
