/** The types of Express 4, in place of those of Express 5; the compiler checks it, nobody runs it. */

import express from 'express'
import { type RateLimit, rateLimit } from 'tidegate/express'

const limit: RateLimit = rateLimit({ limits: '5/minute', key: (request) => request.param('user') })
const app = express()
app.use(limit)
app.del('/', limit.and('1/minute'), (request, response) => response.json(request.rateLimit?.remaining))
