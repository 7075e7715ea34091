/**
 * A stream of a language model, behind a limit of tokens: it reserves an estimate, and settles what was used at the end,
 * also after an error or when the client goes away.
 */

import express from 'express'
import { Limiter, tokenBucket } from 'tidegate'
import { rateLimit } from 'tidegate/express'

const MOST_TOKENS = 200

/** The tokens to reserve: those that the client asks for, within bounds, as it may ask for anything. */
function reserved(request) {
  const asked = Math.trunc(Number(request.body?.max_tokens ?? MOST_TOKENS))
  return Math.min(Math.max(asked || 1, 1), MOST_TOKENS)
}

/** An app over a model: a function that gives the words of an answer, one after another. */
export function llmApp(model, limiter = new Limiter()) {
  const tokens = tokenBucket({ key: 'tokens', count: 1000, period: 60_000 })
  const app = express().use(express.json())
  const limit = rateLimit({ limiter, limits: tokens, cost: reserved, key: (request) => request.get('x-user') })

  app.post('/chat', limit, async (request, response) => {
    let used = 0
    response.type('text/event-stream')
    try {
      for await (const word of model(request.body.prompt)) {
        if (response.destroyed || used === reserved(request)) break
        used++
        response.write(`data: ${word}\n\n`)
      }
      response.end()
    } catch {
      response.end('event: error\n\n')
    } finally {
      await limiter.settle(request.rateLimit, used)
    }
  })
  return app
}
