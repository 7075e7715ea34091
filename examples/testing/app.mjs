/** An app that is tested: it takes its limiter, so that a test can give it one. */

import express from 'express'
import { Limiter } from 'tidegate'
import { rateLimit } from 'tidegate/express'

export function appWith(limiter = new Limiter()) {
  const app = express()
  app.use(rateLimit({ limiter, limits: '2/minute', name: 'api' }))
  app.get('/', (_request, response) => response.send('hello'))
  return app
}

/** The statuses of so many requests to an app, over HTTP. */
export async function statuses(app, count) {
  const server = app.listen(0, '127.0.0.1')
  await new Promise((ready) => server.once('listening', ready))
  const all = []
  for (let request = 0; request < count; request++) {
    all.push((await fetch(`http://127.0.0.1:${server.address().port}`)).status)
  }
  server.close()
  server.closeAllConnections()
  return all
}
