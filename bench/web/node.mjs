/**
 * The cost of a rate limit on a hello-world with headers, beside each framework's own peer. Prints a table.
 *
 * A cost is what a request takes the server's process with the limit, less what it takes it without: processor time, which
 * other programs on the machine disturb least, and time by the clock, which requests per second come from. All servers
 * run at once and are asked in turns, in short rounds; each round has its own differences, and their medians count.
 *
 * Words behind the command choose rows: `express redis`. `ROUNDS` and `REQUESTS` make a run shorter or longer. The exit
 * code is 1 where a target is missed.
 */

import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { load, started } from './load.mjs'

const ROUNDS = Number(process.env.ROUNDS ?? 31)
const REQUESTS = Number(process.env.REQUESTS ?? 2000)
/** Rounds in which the servers compile and warm up. */
const WARM_UP = 12
const PEERS = { express: 'express-rate-limit', fastify: '@fastify/rate-limit', nestjs: '@nestjs/throttler' }
const TARGETS = { memory: 0.5, redis: 0.8 }
/** `headers` is a middleware that sets two constant headers and nothing else: no limit with headers costs less. */
const LIMITS = ['none', 'headers', 'tidegate', 'common', 'peer']
const NAMES = { headers: 'two constant headers', tidegate: 'tidegate', common: "tidegate, headers 'common'" }

/** Microseconds of one request, by processor and by clock. */
async function round(server) {
  await server.processor()
  const start = performance.now()
  await load(server.port, REQUESTS)
  const clock = (performance.now() - start) * 1000
  return { processor: (await server.processor()) / REQUESTS, clock: clock / REQUESTS }
}

function median(numbers) {
  const sorted = [...numbers].sort((one, other) => one - other)
  const middle = sorted.length >> 1
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}

async function measured(framework, redis) {
  const servers = await Promise.all(LIMITS.map((limit) => started(framework, limit, redis)))
  const rounds = []
  for (let number = 0; number < WARM_UP + ROUNDS; number++) {
    const each = {}
    // Each round begins with another server, so that none always follows the same one.
    for (let turn = 0; turn < servers.length; turn++) {
      const place = (number + turn) % servers.length
      each[LIMITS[place]] = await round(servers[place])
    }
    if (number >= WARM_UP) rounds.push(each)
  }
  for (const { stop } of servers) stop()
  return rounds
}

/** The rows of one framework and store, as cells. */
function rows(framework, store, rounds) {
  const cost = (limit, by) => median(rounds.map((each) => each[limit][by] - each.none[by]))
  const rate = (limit) => (1e6 / median(rounds.map((each) => each[limit].clock))).toFixed(0)
  const target = TARGETS[store]
  const row = (limit) => {
    const [processor, clock] = ['processor', 'clock'].map((by) => cost(limit, by) / cost('peer', by))
    const isOurs = limit === 'tidegate' || limit === 'common'
    const verdict = isOurs ? `<= ${target} ${processor <= target ? 'met' : 'missed'}` : ''
    const shares = limit === 'peer' ? ['', ''] : [processor.toFixed(2), clock.toFixed(2)]
    const costs = ['processor', 'clock'].map((by) => `${cost(limit, by).toFixed(1)} us`)
    return [`${framework}, ${store}: ${NAMES[limit] ?? PEERS[framework]}`, rate(limit), ...costs, ...shares, verdict]
  }
  const bare = median(rounds.map((each) => each.none.processor))
  return [
    [`${framework}, ${store}: without`, rate('none'), `(${bare.toFixed(1)} us in all)`, '', '', '', ''],
    ...LIMITS.slice(1).map(row),
  ]
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
const redis = spawn('redis-server', ['--port', port, '--bind', '127.0.0.1', '--save', '', '--dir', folder], {
  stdio: 'ignore',
})
await new Promise((resolve) => setTimeout(resolve, 300))

const columns = ['hello-world', 'requests/s', 'cost: processor', 'by clock', 'of peer', 'by clock', 'target']
const line = (cells) => console.log(`| ${cells.join(' | ')} |`)
let missed = false
try {
  line(columns)
  line(columns.map((_, index) => (index === 0 || index === columns.length - 1 ? '---' : '---:')))
  for (const framework of Object.keys(PEERS)) {
    for (const store of Object.keys(TARGETS)) {
      if (!process.argv.slice(2).every((word) => `${framework} ${store}`.includes(word))) continue
      const rounds = await measured(framework, store === 'redis' ? `redis://127.0.0.1:${port}` : '')
      for (const cells of rows(framework, store, rounds)) {
        line(cells)
        missed ||= cells.at(-1).includes('missed')
      }
    }
  }
} finally {
  redis.kill()
  rmSync(folder, { recursive: true, force: true })
}
process.exitCode = missed ? 1 : 0
