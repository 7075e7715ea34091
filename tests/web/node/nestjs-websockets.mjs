/** The module for NestJS and messages of websockets; each version of NestJS imports this. */

import 'reflect-metadata'
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { after, test } from 'node:test'
import { Catch, Module, UseFilters, UseGuards } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { IoAdapter } from '@nestjs/platform-socket.io'
import { WsAdapter } from '@nestjs/platform-ws'
import { BaseWsExceptionFilter, SubscribeMessage, WebSocketGateway, WsException } from '@nestjs/websockets'
import { io } from 'socket.io-client'
import { Limiter } from 'tidegate'
import { RateLimit, SkipRateLimit, TidegateGuard, TidegateModule } from 'tidegate/nestjs'
import { WebSocket } from 'ws'
import { RedisServer } from '../../node/server.mjs'
import { decorate } from './decorate.mjs'

const redis = await RedisServer.start()
let names = 0
const limiters = {
  memory: () => new Limiter(),
  redis: () => new Limiter(redis.url, { timeoutMs: 5000, onError: 'raise', namespace: `sockets${names++}` }),
}

function gateway(given, filter) {
  class Chat {
    say(client, text) {
      return { event: 'said', data: [text, client.rateLimit?.remaining ?? null] }
    }
    shout(_client, text) {
      return { event: 'said', data: [text, null] }
    }
    whisper(_client, text) {
      return { event: 'said', data: [text, null] }
    }
  }
  Object.assign(Chat.prototype, given)
  decorate(Chat, 'say', SubscribeMessage('say'))
  decorate(Chat, 'shout', SubscribeMessage('shout'), RateLimit('1/hour'))
  decorate(Chat, 'whisper', SubscribeMessage('whisper'), SkipRateLimit())
  WebSocketGateway()(Chat)
  // Version 11 has no global guards for gateways; version 12 asks the guard twice then, and it counts once.
  UseGuards(TidegateGuard)(Chat)
  if (filter) UseFilters(filter)(Chat)
  return Chat
}

/** NestJS 11 tells plain websockets of no exception: it emits an event on its own side of the socket. */
class Sent extends BaseWsExceptionFilter {
  handleError(client, ...rest) {
    super.handleError({ emit: (event, data) => client.send(JSON.stringify({ event, data })) }, ...rest)
  }
}
const tellsAll = 'emitMessage' in BaseWsExceptionFilter.prototype
const filterOf = (Adapter) => (Adapter === WsAdapter && !tellsAll ? Sent : BaseWsExceptionFilter)

async function served(Adapter, options, { given = {}, filter } = {}) {
  filter ??= filterOf(Adapter)
  class App {}
  Module({ imports: [TidegateModule.forRoot(options)], providers: [gateway(given, filter)] })(App)
  const app = await NestFactory.create(App, { logger: false, abortOnError: false })
  app.useWebSocketAdapter(new Adapter(app))
  await app.listen(0, '127.0.0.1')
  after(() => app.close())
  return `127.0.0.1:${app.getHttpServer().address().port}`
}

/** A client that answers to a message with the next event: its name and its data. */
const clients = {
  async socketio(address, { headers: extraHeaders, auth } = {}) {
    const options = { transports: ['websocket'], forceNew: true, extraHeaders, auth }
    const socket = io(`http://${address}`, options)
    after(() => socket.close())
    await new Promise((resolve) => socket.once('connect', resolve))
    return (event, data) =>
      new Promise((resolve) => {
        socket.onAny((...received) => resolve(received))
        socket.emit(event, data)
      })
  },
  async ws(address, { headers } = {}) {
    const socket = new WebSocket(`ws://${address}`, { headers })
    after(() => socket.close())
    await once(socket, 'open')
    return async (event, data) => {
      const received = once(socket, 'message')
      socket.send(JSON.stringify({ event, data }))
      const message = JSON.parse(String((await received)[0]))
      return [message.event, message.data]
    }
  },
}
const adapters = { socketio: IoAdapter, ws: WsAdapter }

for (const [library, Adapter] of Object.entries(adapters)) {
  const connect = clients[library]

  for (const [kind, limiterOf] of Object.entries(limiters)) {
    test(`${library}, ${kind}: a message is refused with an exception, which says when to retry`, async () => {
      const address = await served(Adapter, { limiter: limiterOf(), limits: '3/hour' })
      const [ada, bob] = [await connect(address), await connect(address)]
      // Two sockets of one address are one client.
      assert.deepEqual(await ada('say', 'one'), ['said', ['one', 2]])
      assert.deepEqual(await bob('say', 'two'), ['said', ['two', 1]])
      assert.deepEqual(await ada('say', 'three'), ['said', ['three', 0]])
      const [event, data] = await ada('say', 'four')
      const { retryAfter, message, ...rest } = data
      assert.equal(event, 'exception')
      assert.deepEqual(rest, { status: 'error', code: 'RATE_LIMITED', cause: { pattern: 'say' } })
      assert.ok(retryAfter > 1100 && retryAfter <= 1200, `${retryAfter}`)
      assert.equal(message, `Too many requests, retry in ${retryAfter} seconds`)
    })
  }

  test(`${library}: a cost that a message chose is the client's mistake, and no error of the server`, async () => {
    let asked
    const say = await connect(await served(Adapter, { limits: '5/hour', cost: () => asked }))
    for (const [cost, message] of [
      [6, /exceeds the limit/],
      [-1, /must be a whole number/],
      ['5', /must be a whole number/],
    ]) {
      asked = cost
      const [event, data] = await say('say', 'hello')
      assert.deepEqual([event, data.status, data.code], ['exception', 'error', 'ERR_REQUEST'])
      assert.match(data.message, message)
    }
    asked = 5
    assert.deepEqual(await say('say', 'hello'), ['said', ['hello', 0]])
  })

  test(`${library}: decorators of messages`, async () => {
    const say = await connect(await served(Adapter, { limits: '1/hour' }))
    for (let call = 0; call < 3; call++) assert.deepEqual(await say('whisper', 'psst'), ['said', ['psst', null]])
    assert.equal((await say('shout', 'hey'))[0], 'said')
    assert.equal((await say('shout', 'hey'))[0], 'exception')
    assert.equal((await say('say', 'hello'))[0], 'said')
    assert.equal((await say('say', 'hello'))[0], 'exception')
  })

  test(`${library}: behind a proxy, by the address in the request that opened the socket`, async () => {
    const options = { limits: '1/hour', trustedProxies: 1 }
    // A client of ws does not have its request: the app hands it on.
    const given = { handleConnection: (client, request) => (client.request ??= request) }
    const address = await served(Adapter, options, { given })
    const from = async (client) => connect(address, { headers: { 'x-forwarded-for': client } })
    const [ada, bob] = [await from('203.0.113.9'), await from('203.0.113.10')]
    assert.equal((await ada('say', 'one'))[0], 'said')
    assert.equal((await ada('say', 'two'))[0], 'exception')
    assert.equal((await bob('say', 'one'))[0], 'said')
  })

  test(`${library}: a filter sees the answer`, async () => {
    const seen = []
    class Filter extends filterOf(Adapter) {
      catch(exception, host) {
        seen.push(exception.info)
        super.catch(exception, host)
      }
    }
    Catch(WsException)(Filter)
    const say = await connect(await served(Adapter, { limits: '1/hour' }, { filter: new Filter() }))
    await say('say', 'one')
    assert.equal((await say('say', 'two'))[1].code, 'RATE_LIMITED')
    assert.equal(seen[0].blocked, true)
  })
}

test('socket.io: a key of the client', async () => {
  const address = await served(IoAdapter, { limits: '1/hour', key: (client) => client.handshake.auth.user })
  const as = (user) => clients.socketio(address, { auth: { user } })
  const [ada, bob] = [await as('ada'), await as('bob')]
  assert.equal((await ada('say', 'one'))[0], 'said')
  assert.equal((await bob('say', 'one'))[0], 'said')
  assert.equal((await ada('say', 'two'))[0], 'exception')
})

test('ws: behind a proxy and without the request, a message is an error and not counted for the proxy', async () => {
  const say = await clients.ws(await served(WsAdapter, { limits: '1/hour', trustedProxies: 1 }))
  for (let call = 0; call < 2; call++) {
    const [event, data] = await say('say', 'one')
    assert.deepEqual([event, data.message], ['exception', 'Internal server error'])
  }
})

test('ws: a client that resets the connection behind its message is no error of the server', {
  skip: process.platform !== 'linux',
}, async () => {
  let seen
  const caught = new Promise((resolve) => {
    seen = resolve
  })
  class Filter extends filterOf(WsAdapter) {
    catch(exception) {
      seen(exception)
    }
  }
  Catch()(Filter)
  const socket = new WebSocket(`ws://${await served(WsAdapter, { limits: '1/hour' }, { filter: new Filter() })}`)
  await once(socket, 'open')
  socket.send(JSON.stringify({ event: 'say', data: 'hello' }))
  socket._socket.resetAndDestroy()
  const exception = await caught
  assert.ok(exception instanceof WsException)
  assert.deepEqual([exception.getError().code, exception.message], ['ECONNABORTED', 'request aborted'])
})

test('ws: the request that an app gives may be a text, which can carry no answer', async () => {
  const getRequest = (context) => context.switchToWs().getData()
  const say = await clients.ws(await served(WsAdapter, { limits: '1/hour', getRequest, key: (text) => text }))
  assert.deepEqual(await say('say', 'ada'), ['said', ['ada', null]])
  assert.equal((await say('say', 'ada'))[1].code, 'RATE_LIMITED')
  assert.deepEqual(await say('say', 'bob'), ['said', ['bob', null]])
})
