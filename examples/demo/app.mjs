// An Express app behind a limit: `node app.mjs` serves on a free port of the loopback and prints it.

import { readFileSync } from 'node:fs'
import express from 'express'
import { rateLimit } from 'tidegate/express'

const limit = JSON.parse(readFileSync(new URL('limit.json', import.meta.url), 'utf8'))
const app = express()

// Behind a proxy the peer is the proxy; then `trustedProxies: 1` makes it read a header that only the proxy may set.
app.use(rateLimit({ limits: limit, headers: 'both' }))

app.get('/', (_request, response) => {
  response.json({ hello: 'world' })
})

const server = app.listen(0, '127.0.0.1', () => console.log(server.address().port))
