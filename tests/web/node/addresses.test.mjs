/** The addresses of clients: headers that are too long for Node's server. */

import assert from 'node:assert/strict'
import { request } from 'node:http'
import { test } from 'node:test'
import { apps } from './apps.mjs'

/** The status of a request with these header lines, in their order. */
const asked = (url, lines) =>
  new Promise((resolve, reject) => {
    const headers = ['Host', 'localhost', 'Connection', 'close', ...lines.flat()]
    const sent = request(url, { headers }, (response) => resolve(response.resume().statusCode))
    sent.once('error', reject).end()
  })

/** The headers of a client, with an address that it makes up, and the line that the proxy in front of the app appends. */
const throughProxy = (host, many, header) => [
  [header, `203.0.113.${host}`],
  ...Array.from({ length: many }, () => ['a', 'b']),
  [header, '198.51.100.1'],
]

for (const [framework, make] of Object.entries(apps).filter(([name]) => name !== 'web')) {
  const settings = {
    express4: { 'trust proxy': 1 },
    express5: { 'trust proxy': 1 },
    nestExpress: { 'trust proxy': 1 },
    fastify: { trustProxy: '127.0.0.1' },
    nestFastify: { trustProxy: '127.0.0.1' },
    koa2: { proxy: true, maxIpsCount: 1 },
    koa3: { proxy: true, maxIpsCount: 1 },
  }[framework]
  const ways = [
    [{ trustedProxies: 1 }, {}, 'X-Forwarded-For'],
    [{ trustedProxies: 1, forwardedHeader: 'x-real-client' }, {}, 'X-Real-Client'],
    ...(settings ? [[{}, { settings }, 'X-Forwarded-For']] : []),
  ]

  test(`${framework}: a client that sends too many header lines cannot hide the one of the proxy`, async () => {
    for (const [options, more, header] of ways) {
      for (const many of [996, 997, 998, 1100]) {
        const { url } = await make({ limits: '2/hour', ...options }, more)
        const statuses = []
        for (let host = 1; host <= 4; host++) statuses.push(await asked(url, throughProxy(host, many, header)))
        assert.deepEqual(statuses, [200, 200, 429, 429], `${many} lines, ${header}`)
      }
    }
  })
}
