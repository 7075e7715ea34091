/** The examples in examples/web, over real connections. */

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { after, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { credentials, makeClientConstructor, ServerCredentials } from '@grpc/grpc-js'
import { serve } from '@hono/node-server'
import { io } from 'socket.io-client'
import { Limiter, tokenBucket } from 'tidegate'
import { Clock } from 'tidegate/testing'
import { WebSocket } from 'ws'
import * as grpc from '../../../examples/web/grpc.mjs'
import { llmApp } from '../../../examples/web/llm-stream.mjs'
import { GET } from '../../../examples/web/next-route.mjs'
import { server as socketio } from '../../../examples/web/socketio.mjs'
import { handler as trpc } from '../../../examples/web/trpc.mjs'
import { server as ws } from '../../../examples/web/ws.mjs'
import { server as yoga } from '../../../examples/web/yoga.mjs'
import { eventually } from '../../node/server.mjs'
import { get, listening } from './apps.mjs'

const fetched = (fetch) => listening(serve({ fetch, port: 0, hostname: '127.0.0.1' }))

test('a stream of a language model settles what it used: at its end, on an error, and without a client', async () => {
  // No token comes back meanwhile, however long it takes.
  const limiter = new Limiter({ clock: new Clock() })
  const tokens = tokenBucket({ key: 'tokens', count: 1000, period: 60_000 })
  async function* model(prompt) {
    for (let word = 0; word < 50; word++) {
      if (prompt === 'fails' && word === 20) throw new Error('model')
      if (prompt === 'slow') await sleep(5)
      yield `word${word}`
    }
  }
  const url = await listening(llmApp(model, limiter).listen(0, '127.0.0.1'))
  const chat = (user, prompt, signal, max_tokens) =>
    fetch(`${url}/chat`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-user': user },
      body: JSON.stringify({ prompt, max_tokens }),
      signal,
    })
  const used = async (user, between) => {
    const left = ({ remaining }) => 1000 - remaining
    await eventually(
      () => limiter.peek(tokens, user),
      (info) => between[0] <= left(info) && left(info) <= between[1],
    )
  }
  const answer = await chat('ada', 'hello')
  assert.equal(answer.headers.get('x-ratelimit-remaining'), '800')
  assert.equal((await answer.text()).match(/data:/g).length, 50)
  await used('ada', [50, 50])
  assert.match(await (await chat('bob', 'fails')).text(), /event: error/)
  await used('bob', [20, 20])
  const controller = new AbortController()
  const slow = await chat('eve', 'slow', controller.signal)
  await slow.body.getReader().read()
  controller.abort()
  await used('eve', [1, 49])
  const left = async (tokens) =>
    (await chat(`${tokens}`, 'hello', undefined, tokens)).headers.get('x-ratelimit-remaining')
  const asked = [10, 1e9, -5, 0, 'many', null, [7]]
  assert.deepEqual(await Promise.all(asked.map(left)), ['990', '800', '999', '999', '999', '800', '993'])
  for (let call = 0; call < 5; call++) await limiter.limit(tokens, 'full', { cost: 200 })
  assert.equal((await chat('full', 'hello')).status, 429)
})

test('a route handler of Next', async () => {
  const url = await fetched(GET)
  const from = (address) => get(url, '/', { headers: { 'x-forwarded-for': address } })
  for (const left of ['2', '1', '0'])
    assert.equal((await from('203.0.113.9')).headers.get('x-ratelimit-remaining'), left)
  assert.equal((await from('203.0.113.9')).status, 429)
  assert.equal((await from('203.0.113.10')).status, 200)
})

test('tRPC', async () => {
  const url = await fetched(trpc)
  const hello = () => get(url, '/trpc/hello', { headers: { 'x-user': 'ada' } })
  const answers = [await hello(), await hello(), await hello()]
  assert.deepEqual(
    answers.map(({ status }) => status),
    [200, 200, 429],
  )
  assert.equal(answers[0].headers.get('x-ratelimit-remaining'), '1')
  assert.match(answers[2].headers.get('retry-after'), /^(2\d|30)$/)
  const headers = { 'x-user': 'ada', 'content-type': 'application/json' }
  const send = await fetch(`${url}/trpc/send`, { method: 'POST', headers })
  assert.equal((await send.json()).result.data, 'sent')
})

test('GraphQL Yoga', async () => {
  const url = await listening(yoga.listen(0, '127.0.0.1'))
  const query = async () => {
    const headers = { 'content-type': 'application/json' }
    const response = await fetch(`${url}/graphql`, { method: 'POST', headers, body: '{"query":"{ hello }"}' })
    return [response.status, response.headers.get('x-ratelimit-remaining'), await response.text()]
  }
  assert.deepEqual(await query(), [200, '1', '{"data":{"hello":"world"}}'])
  assert.equal((await query())[0], 200)
  assert.equal((await query())[0], 429)
})

test('socket.io', async () => {
  const client = io(await listening(socketio.listen(0, '127.0.0.1')), { transports: ['websocket'] })
  after(() => client.close())
  for (const text of ['one', 'two']) assert.equal(await client.emitWithAck('message', text), text)
  const limited = new Promise((resolve) => client.once('limited', resolve))
  client.emit('message', 'three', () => assert.fail('it was refused'))
  assert.ok((await limited).retryMs > 50_000)
})

test('ws', async () => {
  const client = new WebSocket((await listening(ws.listen(0, '127.0.0.1'))).replace('http', 'ws'))
  const received = []
  client.on('message', (data) => received.push(String(data)))
  await once(client, 'open')
  const closed = once(client, 'close')
  for (const text of ['one', 'two', 'three', 'four', 'five']) client.send(text)
  const [code] = await closed
  assert.equal(code, 1008)
  assert.deepEqual(received.slice(0, 2), ['one', 'two'])
  assert.ok(JSON.parse(received[2]).retryMs > 50_000)
  assert.equal(received.length, 4)
})

test('gRPC', async () => {
  const port = await new Promise((resolve, reject) => {
    grpc.server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) =>
      error ? reject(error) : resolve(port),
    )
  })
  after(() => grpc.server.forceShutdown())
  const Client = makeClientConstructor(grpc.greeter, 'Greeter')
  const client = new Client(`127.0.0.1:${port}`, credentials.createInsecure())
  after(() => client.close())
  const hello = () =>
    new Promise((resolve, reject) => client.hello('ada', (error, text) => (error ? reject(error) : resolve(text))))
  assert.equal(await hello(), 'hello ada')
  assert.equal(await hello(), 'hello ada')
  await assert.rejects(hello(), (error) => error.code === 8 && Number(error.metadata.get('retry-after')[0]) > 50)
})
