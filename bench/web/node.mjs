/**
 * The cost of a rate limit in requests per second of a hello-world with headers, beside each framework's own peer: one
 * run, the servers in turn, so that a noisy machine is noisy for all of them. Prints a table.
 *
 * A cost is the difference of the time that a request takes with the limit and without: by the clock, and by the
 * processor, which other programs on the machine disturb less. Words behind the command choose rows: `express redis`.
 */

import { fork, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROUNDS = Number(process.env.ROUNDS ?? 9)
const REQUESTS = Number(process.env.REQUESTS ?? 6000)
const CONNECTIONS = 16
const REQUEST = 'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n'
const BODY = 'hello world'
const PEERS = { express: 'express-rate-limit', fastify: '@fastify/rate-limit', nestjs: '@nestjs/throttler' }
const TARGETS = { memory: 0.5, redis: 0.8 }
const script = fileURLToPath(new URL('server.mjs', import.meta.url))

/** A server of its own process, and the microseconds that a request took it in each round. */
async function started(framework, limit, redis = '') {
  const child = fork(script, [framework, limit, redis], { env: { ...process.env, NODE_ENV: 'production' } })
  const next = () => new Promise((resolve) => child.once('message', resolve))
  const port = await next()
  const processor = () => {
    child.send('')
    return next()
  }
  return { child, port, processor, wall: [], cpu: [] }
}

/** So many requests over connections that stay open, each connection one at a time. */
function load(port, requests) {
  let left = requests
  const one = () =>
    new Promise((resolve, reject) => {
      const socket = connect(port, '127.0.0.1')
      let text = ''
      const ask = () => (left-- > 0 ? socket.write(REQUEST) : socket.end(resolve))
      socket.setNoDelay(true).setEncoding('latin1').once('connect', ask).once('error', reject)
      socket.on('data', (chunk) => {
        text += chunk
        if (!text.endsWith(BODY)) return
        if (!text.startsWith('HTTP/1.1 200')) reject(new Error(text))
        text = ''
        ask()
      })
    })
  return Promise.all(Array.from({ length: CONNECTIONS }, one))
}

async function round(server) {
  await server.processor()
  const start = performance.now()
  await load(server.port, REQUESTS)
  const wall = (performance.now() - start) * 1000
  return { wall: wall / REQUESTS, cpu: (await server.processor()) / REQUESTS }
}

async function compared(framework, store, redis) {
  const servers = {}
  for (const limit of ['none', 'tidegate', 'common', 'peer']) servers[limit] = await started(framework, limit, redis)
  // The first rounds compile and warm up, and are not counted.
  for (let number = -3; number < ROUNDS; number++) {
    for (const server of Object.values(servers)) {
      const { wall, cpu } = await round(server)
      if (number < 0) continue
      server.wall.push(wall)
      server.cpu.push(cpu)
    }
  }
  for (const { child } of Object.values(servers)) child.disconnect()
  const best = (limit, by) => Math.min(...servers[limit][by])
  const cost = (limit, by) => best(limit, by) - best('none', by)
  return ['tidegate', 'common'].map((limit) => ({
    name: `${framework}, ${store}${limit === 'common' ? ", headers 'common'" : ''}`,
    bare: 1e6 / best('none', 'wall'),
    ours: 1e6 / best(limit, 'wall'),
    theirs: 1e6 / best('peer', 'wall'),
    peer: PEERS[framework],
    wall: cost(limit, 'wall') / cost('peer', 'wall'),
    costs: [cost(limit, 'cpu'), cost('peer', 'cpu')],
    cpu: cost(limit, 'cpu') / cost('peer', 'cpu'),
    target: TARGETS[store],
  }))
}

async function freePort() {
  const server = createServer()
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address()
  await new Promise((resolve) => server.close(resolve))
  return port
}

const folder = mkdtempSync(join(tmpdir(), 'tidegate-bench-'))
const port = await freePort()
const redis = spawn('redis-server', ['--port', port, '--bind', '127.0.0.1', '--save', '', '--dir', folder], { stdio: 'ignore' })
await new Promise((resolve) => setTimeout(resolve, 300))

const columns = ['hello-world', 'bare', 'tidegate', 'peer', 'requests/s', 'cost', 'of peer', 'by clock', 'target']
const text = (row) => [
  row.name,
  row.bare.toFixed(0),
  row.ours.toFixed(0),
  row.theirs.toFixed(0),
  row.peer,
  `${row.costs[0].toFixed(1)} us`,
  row.cpu.toFixed(2),
  row.wall.toFixed(2),
  `<= ${row.target}`,
]
try {
  console.log(`| ${columns.join(' | ')} |\n|${columns.map(() => ' --- ').join('|')}|`)
  for (const framework of Object.keys(PEERS)) {
    for (const store of Object.keys(TARGETS)) {
      if (!process.argv.slice(2).every((word) => `${framework} ${store}`.includes(word))) continue
      const rows = await compared(framework, store, store === 'redis' ? `redis://127.0.0.1:${port}` : '')
      for (const row of rows) console.log(`| ${text(row).join(' | ')} |`)
    }
  }
} finally {
  redis.kill()
  rmSync(folder, { recursive: true, force: true })
}
