/** The tokens that the clients of OpenAI and Anthropic say were used, estimates, and limits on tools of agents. */

import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js'
import OpenAI from 'openai'
import { BlockedError, concurrency, LimitError, Limiter, tokenBucket } from 'tidegate'
import { Estimator, limitTool, UsageStream, usageOf } from 'tidegate/llm'
import { toolServer } from '../../examples/llm/mcp.mjs'
import { startModels } from '../llm/server.mjs'

const models = await startModels()
after(() => models.close())
const openai = new OpenAI({ apiKey: 'none', baseURL: `${models.url}/v1` })
const anthropic = new Anthropic({ apiKey: 'none', baseURL: models.url })
const prompt = 'why is the sea salty'
const messages = [{ role: 'user', content: prompt }]
// OpenAI counts what it found in its cache; Anthropic counts what it wrote there.
const ofOpenAI = { input: 5, output: 5, cached: 2, total: 10 }
const ofAnthropic = { input: 10, output: 5, cached: 2, total: 15 }

test('the usage of responses', async () => {
  assert.deepEqual(usageOf(await openai.chat.completions.create({ model: 'gpt-5', messages })), ofOpenAI)
  assert.deepEqual(usageOf(await openai.responses.create({ model: 'gpt-5', input: prompt })), ofOpenAI)
  assert.deepEqual(usageOf(await anthropic.messages.create({ model: 'c', max_tokens: 100, messages })), ofAnthropic)
})

test('the usage of streams', async () => {
  const chat = { model: 'gpt-5', messages, stream: true }
  const streams = [
    [await openai.chat.completions.create({ ...chat, stream_options: { include_usage: true } }), ofOpenAI],
    [await openai.chat.completions.create(chat), undefined],
    [await openai.responses.create({ model: 'gpt-5', input: prompt, stream: true }), ofOpenAI],
    [openai.responses.stream({ model: 'gpt-5', input: prompt }), ofOpenAI],
    [await anthropic.messages.create({ model: 'c', max_tokens: 100, messages, stream: true }), ofAnthropic],
    [anthropic.messages.stream({ model: 'c', max_tokens: 100, messages }), ofAnthropic],
  ]
  for (const [stream, usage] of streams) {
    const counted = new UsageStream(stream)
    assert.equal(counted.usage, undefined)
    let events = 0
    for await (const _ of counted) events++
    assert.ok(events > 5)
    assert.deepEqual(counted.usage, usage)
  }
})

test('a stream that is left early is closed, and has said its input', async () => {
  let closed = false
  async function* events() {
    try {
      yield { type: 'message_start', message: { usage: { input_tokens: 10, output_tokens: 1 } } }
      yield { type: 'ping' }
    } finally {
      closed = true
    }
  }
  const counted = new UsageStream(events())
  for await (const _ of counted) break
  assert.deepEqual([closed, counted.usage?.total], [true, 11])
})

test('what says no usage', () => {
  const none = [undefined, null, 5, 'usage', [], {}, { usage: null }, { usage: { input_tokens: null } }]
  for (const response of none) assert.equal(usageOf(response), undefined)
  const odd = { input_tokens: true, output_tokens: -1, prompt_tokens: '12', completion_tokens: 1.5, inputTokens: NaN }
  assert.equal(usageOf({ usage: odd }), undefined)
  const ofSdk = { inputTokens: 12, outputTokens: 80, inputTokenDetails: { cacheReadTokens: 4 } }
  assert.deepEqual(usageOf({ usage: ofSdk }), { input: 12, output: 80, cached: 4, total: 92 })
})

test('estimates are a percentile of the latest calls, and bounded', () => {
  const estimator = new Estimator({ percentile: 50, window: 4, least: 2, pairs: 2 })
  estimator.record('gpt-5', 'chat', 100)
  assert.equal(estimator.estimate('gpt-5', 'chat', 500), 500)
  for (const output of [1, 2, 3, 4]) estimator.record('gpt-5', 'chat', output)
  assert.deepEqual([estimator.estimate('gpt-5', 'chat', 500), estimator.estimate('gpt-5', 'chat', 1)], [2, 1])
  for (let number = 0; number < 50; number++) {
    estimator.record(`model ${number}`, 'x'.repeat(1_000_000), 1)
    estimator.estimate('\0', `${number}`, 1)
  }
  assert.equal(estimator.size, 2)
})

test('bad arguments name themselves, and nothing is recorded', () => {
  const estimator = new Estimator()
  const calls = [
    [() => estimator.record('m', 'p', -1), 'output must be at least 0, got -1'],
    [() => estimator.record('m', 'p', 1.5), 'output must be a whole number, got 1.5'],
    [() => estimator.record('m', 'p', '1'), 'output must be a number, got "1"'],
    [() => estimator.record('m', null, 1), 'purpose must be a string, got null'],
    [() => estimator.estimate('m', 'p', NaN), 'most must be at least 0, got NaN'],
    [() => estimator.estimate('m', 'p', 2 ** 54), 'most must be at most 9007199254740992, got 18014398509481984'],
    [() => new Estimator({ percentile: 0 }), 'percentile must be above 0 and at most 100, got 0'],
    [() => new Estimator({ window: 2 }), 'least must be at most the window, 2, got 20'],
    [() => new Estimator({ pair: 2 }), 'pair is not an option of an estimator (did you mean pairs?), got 2'],
  ]
  for (const [call, message] of calls) {
    assert.throws(call, (error) => error instanceof LimitError && error.message === message, message)
  }
  const malformed = 'model must be well-formed, without lone surrogates'
  assert.throws(
    () => estimator.record('\ud800', 'p', 1),
    (error) => error.message.startsWith(malformed),
  )
  assert.equal(estimator.size, 0)
})

test('a tool is limited per user and session, in one decision', async () => {
  const limiter = new Limiter()
  const byUser = tokenBucket({ key: 'user', count: 2, period: 60_000 })
  const bySession = tokenBucket({ key: 'session', count: 1, period: 60_000 })
  const checks = (user, session) => [
    { limit: byUser, actor: user },
    { limit: bySession, actor: session },
  ]
  const tool = limitTool(limiter, checks, (user, session) => `${user} in ${session}`)
  assert.equal(await tool('ada', 's1'), 'ada in s1')
  await assert.rejects(tool('ada', 's1'), (error) => error instanceof BlockedError && error.info.key === 'session')
  assert.equal(await tool('ada', 's2'), 'ada in s2')
  await assert.rejects(tool('ada', 's3'), (error) => error.info.key === 'user')
  assert.equal(await tool('eve', 's3'), 'eve in s3')
  const polite = limitTool(limiter, checks, tool, ({ retryAfterMs }) => `retry in ${Math.ceil(retryAfterMs / 1000)} s`)
  assert.equal(await polite('eve', 's3'), 'retry in 60 s')
})

test('a tool that is a generator, or no function, is refused', () => {
  for (const tool of [function* () {}, async function* () {}, undefined, 'search']) {
    assert.throws(
      () => limitTool(new Limiter(), () => [], tool),
      (error) => error instanceof LimitError && error.field === 'tool',
    )
  }
})

test('units are held while a tool runs, also one that fails', async () => {
  const limiter = new Limiter()
  const slots = concurrency({ key: 'slots', max: 1, lease: 60_000 })
  const tool = limitTool(
    limiter,
    () => [{ limit: slots, actor: 'ada' }],
    async (work) => await work(),
  )
  await tool(async () =>
    assert.rejects(
      tool(() => {}),
      BlockedError,
    ),
  )
  await assert.rejects(
    tool(() => {
      throw new TypeError('the tool failed')
    }),
    TypeError,
  )
  assert.equal(limiter.peekSync(slots, 'ada').remaining, 1)
})

test('a tool of an MCP server tells its agent when to retry', async () => {
  const { server, clock } = toolServer()
  const client = new Client({ name: 'agent', version: '1' })
  const [ours, theirs] = InMemoryTransport.createLinkedPair()
  await Promise.all([server.connect(theirs), client.connect(ours)])
  const call = () => client.callTool({ name: 'search', arguments: { query: 'tides' } })
  assert.deepEqual((await call()).content, [{ type: 'text', text: 'nothing about tides' }])
  const denied = await call()
  assert.equal(denied.isError, true)
  assert.match(denied.content[0].text, /search-session.* 60 s/)
  clock.advance(60_000)
  assert.equal((await call()).isError, undefined)
  await client.close()
})
