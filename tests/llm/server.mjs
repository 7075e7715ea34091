/**
 * Stands for the servers of language models: it speaks the protocols of OpenAI and Anthropic, in JSON and as events, and
 * answers a prompt with its own words. `node server.mjs` prints its URL, and ends with its standard input.
 */

import { createServer } from 'node:http'
import { fileURLToPath } from 'node:url'

/** Tokens that were found in the cache, and those that Anthropic's wrote there. */
const CACHED = 2
const WRITTEN = 5

/** The words of the last message, as text or in parts. */
function wordsOf({ messages, input }) {
  const last = messages?.at(-1) ?? (typeof input === 'string' ? { content: input } : input.at(-1))
  const text = typeof last.content === 'string' ? last.content : last.content.map((part) => part.text).join(' ')
  return text.split(' ')
}

function chat(body) {
  const words = wordsOf(body)
  const usage = {
    prompt_tokens: words.length,
    completion_tokens: words.length,
    total_tokens: words.length * 2,
    prompt_tokens_details: { cached_tokens: CACHED },
  }
  const common = { id: 'c1', created: 1, model: body.model }
  const chunk = (choices, more) => ({ data: { ...common, object: 'chat.completion.chunk', choices, ...more } })
  const delta = (content) => [{ index: 0, delta: { role: 'assistant', content }, finish_reason: null }]
  return {
    whole: {
      ...common,
      object: 'chat.completion',
      choices: [{ index: 0, message: { role: 'assistant', content: words.join(' ') }, finish_reason: 'stop' }],
      usage,
    },
    events: [
      ...words.map((word) => chunk(delta(word), { usage: null })),
      chunk([{ index: 0, delta: {}, finish_reason: 'stop' }], { usage: null }),
      // Asked for, the usage comes in a last event without choices.
      ...(body.stream_options?.include_usage ? [chunk([], { usage })] : []),
      { data: '[DONE]' },
    ],
  }
}

function responses(body) {
  const words = wordsOf(body)
  const text = words.join(' ')
  const usage = {
    input_tokens: words.length,
    output_tokens: words.length,
    total_tokens: words.length * 2,
    input_tokens_details: { cached_tokens: CACHED, cache_write_tokens: 0 },
    output_tokens_details: { reasoning_tokens: 0 },
  }
  const output = [
    {
      type: 'message',
      id: 'm1',
      role: 'assistant',
      status: 'completed',
      content: [{ type: 'output_text', text, annotations: [], logprobs: [] }],
    },
  ]
  const common = { id: 'r1', object: 'response', created_at: 1, model: body.model, tools: [], tool_choice: 'auto' }
  const whole = { ...common, status: 'completed', output, parallel_tool_calls: true, usage }
  const begun = { ...whole, status: 'in_progress', output: [], usage: null }
  const event = (type, more, at) => ({ event: type, data: { type, sequence_number: at, ...more } })
  const place = { item_id: 'm1', output_index: 0, content_index: 0 }
  const item = { ...output[0], status: 'in_progress', content: [] }
  const part = { type: 'output_text', text: '', annotations: [], logprobs: [] }
  return {
    whole,
    events: [
      event('response.created', { response: begun }, 0),
      event('response.output_item.added', { output_index: 0, item }, 1),
      event('response.content_part.added', { ...place, part }, 2),
      ...words.map((delta, at) => event('response.output_text.delta', { ...place, delta, logprobs: [] }, at + 3)),
      event('response.completed', { response: whole }, words.length + 3),
    ],
  }
}

function messages(body) {
  const words = wordsOf(body)
  const usage = {
    input_tokens: words.length,
    output_tokens: words.length,
    cache_creation_input_tokens: WRITTEN,
    cache_read_input_tokens: CACHED,
  }
  const message = { id: 'm1', type: 'message', role: 'assistant', model: body.model, stop_sequence: null }
  const event = (type, more) => ({ event: type, data: { type, ...more } })
  const start = { ...message, content: [], stop_reason: null, usage: { ...usage, output_tokens: 1 } }
  return {
    whole: { ...message, content: [{ type: 'text', text: words.join(' ') }], stop_reason: 'end_turn', usage },
    events: [
      event('message_start', { message: start }),
      event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
      ...words.map((text) => event('content_block_delta', { index: 0, delta: { type: 'text_delta', text } })),
      event('content_block_stop', { index: 0 }),
      event('message_delta', {
        delta: { stop_reason: 'end_turn', stop_sequence: null },
        // Of the whole message so far; what did not change may be left out.
        usage: { output_tokens: words.length },
      }),
      event('message_stop', {}),
    ],
  }
}

const ROUTES = { '/v1/chat/completions': chat, '/v1/responses': responses, '/v1/messages': messages }

/** A server on a free port of this machine. */
export async function startModels() {
  const server = createServer(async (request, response) => {
    const route = ROUTES[new URL(request.url, 'http://localhost').pathname]
    if (!route) return response.writeHead(404).end('{}')
    const parts = []
    for await (const part of request) parts.push(part)
    const body = JSON.parse(Buffer.concat(parts).toString())
    const { whole, events } = route(body)
    if (!body.stream) return response.setHeader('content-type', 'application/json').end(JSON.stringify(whole))
    response.setHeader('content-type', 'text/event-stream')
    for (const { event, data } of events) {
      if (event) response.write(`event: ${event}\n`)
      response.write(`data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`)
    }
    return response.end()
  })
  await new Promise((listening) => server.listen(0, '127.0.0.1', listening))
  const url = `http://127.0.0.1:${server.address().port}`
  return {
    url,
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { url, close } = await startModels()
  console.log(url)
  process.stdin.on('close', close).resume()
}
