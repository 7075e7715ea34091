// An Express app behind a limit: `node app.mjs` serves on a free port of the loopback and prints it.

import { readFileSync } from 'node:fs'
import express from 'express'
import { Limiter, sendRateLimitHeaders } from 'tidegate'

const limit = JSON.parse(readFileSync(new URL('limit.json', import.meta.url), 'utf8'))
const limiter = new Limiter()
const app = express()

// Answers a request that is over the limit with 429, and puts the headers on every answer.
app.use(async (request, response, next) => {
  // Behind a proxy the peer is the proxy; then `trust proxy` makes Express read a header that only the proxy may set.
  const info = await limiter.limit(limit, request.ip)
  sendRateLimitHeaders(response, info, 'both')
  if (info.blocked) response.status(429).json({ error: 'too many requests' })
  else next()
})

app.get('/', (_request, response) => {
  response.json({ hello: 'world' })
})

const server = app.listen(0, '127.0.0.1', () => console.log(server.address().port))
