/**
 * A cluster of workers, with one app of each framework in every one: `node worker.mjs WORKERS [URL]`. It prints the URLs
 * as JSON once all of them listen, then the codes of warnings as they come; it ends when its input does.
 */

import cluster from 'node:cluster'
import { Limiter } from 'tidegate'
import { freePort } from '../../node/server.mjs'

const [, , workers, store] = process.argv
const FRAMEWORKS = ['express4', 'express5', 'fastify', 'koa2', 'koa3', 'nestExpress', 'nestFastify', 'hono', 'web']

if (cluster.isPrimary) {
  const ports = {}
  for (const framework of FRAMEWORKS) ports[framework] = await freePort()
  let listening = 0
  for (let worker = 0; worker < Number(workers); worker++) {
    cluster.fork({ PORTS: JSON.stringify(ports) }).on('message', (message) => {
      if (message !== 'listening') console.log(message)
      else if (++listening === Number(workers)) console.log(JSON.stringify(ports))
    })
  }
  process.stdin.on('end', () => process.exit(0)).resume()
} else {
  process.on('warning', ({ code }) => process.send(code))
  const { apps } = await import('./apps.mjs')
  const limits = { key: 'api', type: 'token-bucket', count: 30, period: 3_600_000 }
  for (const [framework, port] of Object.entries(JSON.parse(process.env.PORTS))) {
    const shared = store ? { limiter: new Limiter(store, { namespace: framework, timeoutMs: 5000 }) } : {}
    await apps[framework]({ limits, ...shared }, { settings: { port } })
  }
  process.send('listening')
}
