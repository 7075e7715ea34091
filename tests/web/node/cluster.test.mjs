/** Two workers behind one port: one limit over Redis, and a warning where each counts by itself. */

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { Agent, get } from 'node:http'
import { createInterface } from 'node:readline'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { RedisServer } from '../../node/server.mjs'

const redis = await RedisServer.start()
const script = fileURLToPath(new URL('worker.mjs', import.meta.url))

/** A cluster of two: the ports of its apps, and what stops it and gives the codes of its warnings. */
async function started(store = '') {
  const child = spawn(process.execPath, [script, '2', store], { stdio: ['pipe', 'pipe', 'inherit'] })
  after(() => child.kill())
  const lines = []
  const output = createInterface(child.stdout)
  const ports = new Promise((resolve, reject) => {
    output.on('line', (line) => (line.startsWith('{') ? resolve(JSON.parse(line)) : lines.push(line)))
    output.once('close', () => reject(new Error(`no worker listens: ${lines}`)))
  })
  const stop = async () => {
    child.stdin.end()
    await once(child, 'exit')
    return lines
  }
  return { ports: await ports, stop }
}

/** The statuses of so many requests at once, each over a connection of its own, so that all workers get some. */
async function statuses(port, count) {
  const agent = new Agent({ keepAlive: false, maxSockets: 10 })
  const one = () =>
    new Promise((resolve, reject) => {
      get({ host: '127.0.0.1', port, agent }, (response) =>
        response.resume().once('end', () => resolve(response.statusCode)),
      ).once('error', reject)
    })
  return Promise.all(Array.from({ length: count }, one))
}

test('two workers admit over Redis exactly what one would, in every framework', async () => {
  const { ports, stop } = await started(redis.url)
  for (const [framework, port] of Object.entries(ports)) {
    const all = await statuses(port, 60)
    assert.equal(all.filter((status) => status === 200).length, 30, framework)
    assert.equal(all.filter((status) => status === 429).length, 30, framework)
  }
  assert.deepEqual(await stop(), [])
})

test('two workers with a memory each: the second one warns once', async () => {
  const { ports, stop } = await started()
  assert.ok((await statuses(ports.express5, 10)).every((status) => status === 200))
  assert.deepEqual(await stop(), ['memory-many-workers'])
})
