/**
 * A hello-world of one framework, with a rate limit or without: `node server.mjs FRAMEWORK LIMIT [REDIS]`. It tells its
 * parent the port, and on every message the time that its processor took since.
 */

import 'reflect-metadata'
import { createRequire } from 'node:module'
import { Controller, Get, Module } from '@nestjs/common'
import { APP_GUARD, NestFactory } from '@nestjs/core'
import { ThrottlerGuard, ThrottlerModule } from '@nestjs/throttler'
import express from 'express'
import Fastify from 'fastify'
import { fixedWindow, Limiter } from 'tidegate'
import { rateLimit } from 'tidegate/express'
import tidegate from 'tidegate/fastify'
import { TidegateModule } from 'tidegate/nestjs'

const [, , framework, limit, redis] = process.argv
const peers = createRequire(new URL('../node/package.json', import.meta.url))

/** Of each client in a minute: ten times what one sends here. */
const MAX = 1000
const HEADERS = [
  ['x-ratelimit-limit', '1000'],
  ['x-ratelimit-remaining', '999'],
  ['x-ratelimit-reset', '60'],
]
const limits = { key: 'bench', type: 'fixed-window', max: MAX, period: 60_000 }
const ours = { limits, ...(redis ? { limiter: redis } : {}), headers: limit === 'x' ? 'x' : 'common' }

function redisClient() {
  const { Redis } = peers('ioredis')
  return new Redis(redis)
}

function expressPeer() {
  const { rateLimit } = peers('express-rate-limit')
  if (!redis) return rateLimit({ windowMs: 60_000, limit: MAX })
  const { RedisStore } = peers('rate-limit-redis')
  const client = redisClient()
  const store = new RedisStore({ sendCommand: (...words) => client.call(...words) })
  return rateLimit({ windowMs: 60_000, limit: MAX, store })
}

function constantHeaders(_request, response, next) {
  for (const [name, value] of HEADERS) response.setHeader(name, value)
  next()
}

/** The least that a limit can do: a decision about the peer, and its three headers as the framework sets them. */
function bare(set) {
  const limiter = new Limiter()
  const limit = fixedWindow({ key: 'bench', max: MAX, period: 60_000 })
  return ({ socket }, response) => {
    const info = limiter.limitSync(limit, socket.remoteAddress)
    set(response, 'x-ratelimit-limit', `${info.quota}`)
    set(response, 'x-ratelimit-remaining', `${info.remaining}`)
    set(response, 'x-ratelimit-reset', `${info.fullResetSec}`)
  }
}

/** A middleware of Express, in place of a limit; nothing for what is one. */
function standIn() {
  if (limit === 'hook') return (_request, _response, next) => next()
  if (limit === 'headers') return constantHeaders
  if (limit === 'ping') return pinged(constantHeaders)
  if (limit !== 'bare') return undefined
  const decide = bare((response, name, value) => response.setHeader(name, value))
  return (request, response, next) => {
    decide(request, response)
    next()
  }
}

/** The same behind a round trip that decides nothing. */
function pinged(middleware) {
  const client = redisClient()
  return (request, response, next) => {
    client.ping().then(() => middleware(request, response, next), next)
  }
}

async function expressApp() {
  const app = express()
  app.disable('x-powered-by')
  if (limit === 'peer') app.use(expressPeer())
  else if (standIn()) app.use(standIn())
  else if (limit !== 'none') app.use(rateLimit(ours))
  app.get('/', (_request, response) => response.send('hello world'))
  const server = app.listen(0, '127.0.0.1')
  await new Promise((ready) => server.once('listening', ready))
  return server.address().port
}

async function fastifyApp() {
  const app = Fastify()
  if (limit === 'peer') {
    const plugin = peers('@fastify/rate-limit')
    await app.register(plugin, { max: MAX, timeWindow: 60_000, ...(redis ? { redis: redisClient() } : {}) })
  } else if (limit === 'headers' || limit === 'ping') {
    const hook = (_request, reply, done) => {
      for (const [name, value] of HEADERS) reply.header(name, value)
      done()
    }
    app.addHook('onRequest', limit === 'ping' ? pinged(hook) : hook)
  } else if (limit === 'hook') {
    app.addHook('onRequest', (_request, _reply, done) => done())
  } else if (limit === 'bare') {
    const decide = bare((reply, name, value) => reply.header(name, value))
    app.addHook('onRequest', (request, reply, done) => {
      decide(request, reply)
      done()
    })
  } else if (limit !== 'none') {
    await app.register(tidegate, ours)
  }
  app.get('/', (_request, reply) => reply.send('hello world'))
  await app.listen({ port: 0, host: '127.0.0.1' })
  return app.server.address().port
}

async function nestApp() {
  class Hello {
    hello() {
      return 'hello world'
    }
  }
  Get()(Hello.prototype, 'hello', Object.getOwnPropertyDescriptor(Hello.prototype, 'hello'))
  Controller()(Hello)
  class App {}
  Module({ imports: nestLimits(), providers: nestGuards(), controllers: [Hello] })(App)
  const app = await NestFactory.create(App, { logger: false })
  app.getHttpAdapter().getInstance().disable('x-powered-by')
  if (standIn()) app.use(standIn())
  await app.listen(0, '127.0.0.1')
  return app.getHttpServer().address().port
}

function nestLimits() {
  if (['none', 'hook', 'headers', 'ping', 'bare'].includes(limit)) return []
  if (limit !== 'peer') return [TidegateModule.forRoot(ours)]
  const throttlers = [{ ttl: 60_000, limit: MAX }]
  if (!redis) return [ThrottlerModule.forRoot({ throttlers })]
  const { ThrottlerStorageRedisService } = peers('@nest-lab/throttler-storage-redis')
  return [ThrottlerModule.forRoot({ throttlers, storage: new ThrottlerStorageRedisService(redisClient()) })]
}

const nestGuards = () => (limit === 'peer' ? [{ provide: APP_GUARD, useClass: ThrottlerGuard }] : [])

const apps = { express: expressApp, fastify: fastifyApp, nestjs: nestApp }
let since = process.cpuUsage()
process.on('message', () => {
  const { user, system } = process.cpuUsage(since)
  since = process.cpuUsage()
  process.send(user + system)
})
process.on('disconnect', () => process.exit(0))
process.send(await apps[framework]())
