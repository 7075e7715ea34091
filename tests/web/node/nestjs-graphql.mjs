/** The module for NestJS and fields of GraphQL; each version of NestJS imports this. */

import 'reflect-metadata'
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import { connect } from 'node:net'
import { after, test } from 'node:test'
import { ApolloDriver } from '@nestjs/apollo'
import { BadRequestException, Module } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import {
  Field,
  GraphQLModule,
  Mutation,
  ObjectType,
  Query,
  ResolveField,
  Resolver,
  Subscription,
} from '@nestjs/graphql'
import { ExpressAdapter } from '@nestjs/platform-express'
import { FastifyAdapter } from '@nestjs/platform-fastify'
import { createClient } from 'graphql-ws'
import { Limiter } from 'tidegate'
import { RateLimit, RateLimitException, SkipRateLimit, TidegateModule } from 'tidegate/nestjs'
import { WebSocket } from 'ws'
import { RedisServer } from '../../node/server.mjs'
import { decorate } from './decorate.mjs'

const is11 = createRequire(import.meta.url)('@nestjs/core/package.json').version.startsWith('11.')
const redis = await RedisServer.start()
let names = 0
const limiters = {
  memory: () => new Limiter(),
  redis: () => new Limiter(redis.url, { timeoutMs: 5000, onError: 'raise', namespace: `graphql${names++}` }),
}
const apollo = { driver: ApolloDriver, autoSchemaFile: true, playground: false }
const servers = { 'Apollo on Express': [() => new ExpressAdapter(), apollo] }
if (!is11) {
  const { MercuriusDriver } = await import('@nestjs/mercurius')
  const fastify = () => new FastifyAdapter({ forceCloseConnections: true })
  const context = (request, reply) => ({ req: request, res: reply })
  servers['Apollo on Fastify'] = [fastify, { ...apollo, context }]
  servers.Mercurius = [fastify, { driver: MercuriusDriver, autoSchemaFile: true }]
}

function resolvers() {
  class Note {}
  ObjectType()(Note)
  Field(() => String)(Note.prototype, 'text')
  class Notes {
    hello() {
      return 'hello'
    }
    notes() {
      return [{}, {}, {}]
    }
    text() {
      return 'text'
    }
    login() {
      return 'login'
    }
    free() {
      return 'free'
    }
    async *ticks() {
      yield { ticks: 'tick' }
    }
  }
  decorate(
    Notes,
    'hello',
    Query(() => String),
  )
  decorate(
    Notes,
    'notes',
    Query(() => [Note]),
  )
  decorate(
    Notes,
    'text',
    ResolveField(() => String),
  )
  decorate(
    Notes,
    'login',
    Mutation(() => String),
    RateLimit('1/hour'),
  )
  decorate(
    Notes,
    'free',
    Query(() => String),
    SkipRateLimit(),
  )
  decorate(
    Notes,
    'ticks',
    Subscription(() => String),
  )
  Resolver(() => Note)(Notes)
  return Notes
}

async function served([adapter, driver], options, graphql = {}) {
  class App {}
  const imports = [TidegateModule.forRoot(options), GraphQLModule.forRoot({ ...driver, ...graphql })]
  Module({ imports, providers: [resolvers()] })(App)
  const app = await NestFactory.create(App, adapter(), { logger: false, abortOnError: false })
  await app.listen(0, '127.0.0.1')
  after(() => app.close())
  return `http://127.0.0.1:${app.getHttpServer().address().port}/graphql`
}

async function asked(url, query, headers = {}) {
  const body = JSON.stringify({ query })
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body,
  })
  return { status: response.status, headers: response.headers, ...(await response.json()) }
}

const left = ({ headers }) => headers.get('x-ratelimit-remaining')

for (const [name, server] of Object.entries(servers)) {
  for (const [kind, limiterOf] of Object.entries(limiters)) {
    test(`${name}, ${kind}: a field is refused with a code, and the response says when to retry`, async () => {
      const url = await served(server, { limiter: limiterOf(), limits: '2/hour' })
      const answers = []
      for (let call = 0; call < 3; call++) answers.push(await asked(url, '{ hello }'))
      assert.deepEqual(answers.map(left), ['1', '0', '0'])
      assert.deepEqual(answers[0].data, { hello: 'hello' })
      assert.equal(answers[1].headers.get('retry-after'), null)
      const [error] = answers[2].errors
      assert.equal(error.message, `Too many requests, retry in ${error.extensions.retryAfter} seconds`)
      assert.equal(error.extensions.code, 'RATE_LIMITED')
      assert.ok(error.extensions.retryAfter > 1700 && error.extensions.retryAfter <= 1800)
      assert.deepEqual(error.path, ['hello'])
      assert.equal(answers[2].headers.get('retry-after'), `${error.extensions.retryAfter}`)
    })

    test(`${name}, ${kind}: every field of a query counts, the ones below it do not`, async () => {
      const options = { limiter: limiterOf(), limits: '4/hour' }
      const url = await served(server, options, { fieldResolverEnhancers: ['guards'] })
      assert.equal(left(await asked(url, '{ notes { text } }')), '3')
      const answer = await asked(url, 'query { a: hello b: hello c: hello }')
      assert.deepEqual([left(answer), answer.errors], ['0', undefined])
    })
  }

  test(`${name}: a cost that a request chose is the client's mistake, and introspection costs nothing`, async () => {
    const cost = ({ headers }) => Number(headers['x-cost'] ?? 1)
    const url = await served(server, { limits: '5/hour', cost })
    for (const [cost, message] of [
      ['6', /exceeds the limit/],
      ['-1', /must be a whole number/],
      ['many', /must be a whole number/],
    ]) {
      const { errors } = await asked(url, '{ hello }', { 'x-cost': cost })
      assert.match(errors[0].message, message)
    }
    for (let query = 0; query < 6; query++) {
      const { data } = await asked(url, '{ __schema { queryType { name } } }')
      assert.equal(data.__schema.queryType.name, 'Query')
    }
    assert.equal(left(await asked(url, '{ hello }')), '4')
  })

  test(`${name}: what is refused leaves the other fields answered`, async () => {
    const url = await served(server, { limits: '1/hour' })
    const { data, errors, headers } = await asked(url, 'mutation { a: login b: login }').then((answer) => answer)
    assert.equal(data, null)
    assert.deepEqual(errors[0].path, ['b'])
    assert.match(headers.get('retry-after'), /^3[56]\d\d$/)
  })

  test(`${name}: decorators of resolvers, a key, and a limit of the request's own`, async () => {
    const key = (request) => request.headers['x-user']
    const url = await served(server, { limits: '1/hour', key })
    const as = (user, query = '{ hello }') => asked(url, query, { 'x-user': user })
    assert.deepEqual([left(await as('ada')), left(await as('bob')), left(await as('ada'))], ['0', '0', '0'])
    assert.equal((await as('ada')).errors[0].extensions.code, 'RATE_LIMITED')
    assert.deepEqual((await as('ada', '{ free }')).data, { free: 'free' })
    assert.equal(left(await as('ada', '{ free }')), null)
    assert.deepEqual((await as('ada', 'mutation { login }')).data, { login: 'login' })
    assert.equal((await as('ada', 'mutation { login }')).errors[0].extensions.code, 'RATE_LIMITED')
  })
}

test('the request of an app that makes a context of its own', async () => {
  const seen = []
  const context = ({ req }) => ({ user: req.headers['x-user'], req: undefined })
  const getRequest = (context, found) => {
    seen.push(`${context.getType()} ${typeof found}`)
    return context.getArgByIndex(2).user === 'none' ? undefined : { user: context.getArgByIndex(2).user }
  }
  const options = { limits: '1/hour', key: ({ user }) => user, getRequest }
  const url = await served(servers['Apollo on Express'], options, { context })
  const as = (user) => asked(url, '{ hello }', { 'x-user': user })
  assert.equal((await as('ada')).errors, undefined)
  assert.equal((await as('ada')).errors[0].extensions.code, 'RATE_LIMITED')
  assert.equal((await as('bob')).errors, undefined)
  for (let call = 0; call < 3; call++) assert.equal((await as('none')).errors, undefined)
  assert.deepEqual([...new Set(seen)], ['graphql object'])
})

test('a subscription is limited when it starts, by the request that opened its socket', async () => {
  const keys = []
  const key = (request) => {
    keys.push(request.url)
    return request.socket.remoteAddress
  }
  const subscriptions = { 'graphql-ws': true }
  const url = await served(servers['Apollo on Express'], { limits: '1/hour', key }, { subscriptions })
  const client = createClient({ url: url.replace('http', 'ws'), webSocketImpl: WebSocket, retryAttempts: 0 })
  after(() => client.dispose())
  const first = client.iterate({ query: 'subscription { ticks }' })
  assert.deepEqual((await first.next()).value, { data: { ticks: 'tick' } })
  const refused = client.iterate({ query: 'subscription { ticks }' })
  const errors = await refused.next().then(
    ({ value }) => value.errors,
    (thrown) => thrown,
  )
  assert.equal(errors[0].extensions.code, 'RATE_LIMITED')
  assert.deepEqual(keys, ['/graphql', '/graphql'])
})

test('a client that resets the connection behind its query is no error of the server', {
  skip: process.platform !== 'linux',
}, async () => {
  let seen
  const failed = new Promise((resolve) => {
    seen = resolve
  })
  const formatError = (formatted, { originalError }) => {
    seen(originalError)
    return formatted
  }
  const { hostname, port } = new URL(await served(servers['Apollo on Express'], { limits: '1/hour' }, { formatError }))
  const socket = connect(port, hostname)
  await once(socket, 'connect')
  const body = '{"query":"{ hello }"}'
  const lines = ['POST /graphql HTTP/1.1', 'Host: localhost', 'Content-Type: application/json']
  socket.write([...lines, `Content-Length: ${body.length}`, '', body].join('\r\n'))
  socket.resetAndDestroy()
  const error = await failed
  // Nest logs all exceptions but its own.
  assert.ok(error instanceof BadRequestException)
  assert.equal(error.message, 'request aborted')
})

test('an exception of a field is the one of HTTP, for filters', () => {
  const exception = new RateLimitException({ resetSec: 3 }, 429, new Error('slow down'))
  assert.deepEqual(exception.extensions, { code: 'RATE_LIMITED', retryAfter: 3 })
  assert.equal(exception.getStatus(), 429)
})
