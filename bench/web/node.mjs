/**
 * The cost of a rate limit on a hello-world with headers, beside each framework's own peer. Prints a table.
 *
 * A cost is what a request takes the server's process with the limit, less what it takes it without: processor time, which
 * other programs on the machine disturb least, and time by the clock, which requests per second come from. All servers
 * run at once and are asked in turns, in short rounds; each round has its own differences, and their medians count.
 *
 * It is the work of an app with many clients, each far below its limit: every round has new clients, which the servers
 * know by their addresses, and each sends a tenth of the 1000 requests that it may send in a minute. Limit and window are
 * the same for all. So are the headers, by name and number: `X-RateLimit-Limit`, `-Remaining` and `-Reset`, which every
 * peer sends by default; ours are those of the style `common`, and a row of their own shows the two of our default.
 *
 * Some rows show how little a limit can cost. Two limit nothing: an empty hook, and three constant headers; over Redis a
 * third one sends these behind a `PING`, through the client that the peers use. In memory one makes a bare decision and
 * sets its headers as the framework's users would, with none of what a module does beside that.
 *
 * In memory the clients never sleep, which takes a processor of their own; beside Redis there is none left for that.
 *
 * Words behind the command choose rows: `express redis`. `ROUNDS` of each process and `REQUESTS` of each client in a
 * round make a run shorter or longer. The exit code is 1 where a target is missed.
 */

import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../../tests/node/server.mjs'
import { CLIENTS, load, started } from './load.mjs'

/** Processes of each server, one after another: V8 compiles the same program well or badly for all of a process's life. */
const SERVERS = 3
const ROUNDS = Number(process.env.ROUNDS ?? 11)
const REQUESTS = Number(process.env.REQUESTS ?? 100)
/** Rounds of each process in which it compiles and warms up. */
const WARM_UP = 12
const PEERS = { express: 'express-rate-limit', fastify: '@fastify/rate-limit', nestjs: '@nestjs/throttler' }
const TARGETS = { memory: 0.5, redis: 0.8 }
const LIMITS = ['none', 'hook', 'headers', 'ping', 'bare', 'x', 'tidegate', 'peer']
/** Rows of one store alone. */
const ALONE = { ping: 'redis', bare: 'memory' }
const NAMES = {
  hook: 'an empty hook',
  headers: 'three constant headers',
  ping: 'three constant headers behind a PING',
  bare: 'a bare decision and its three headers',
  x: 'tidegate, its default headers',
  tidegate: 'tidegate',
}

/** Microseconds of one request, by processor and by clock. */
async function round(server, awake) {
  await server.processor()
  const start = performance.now()
  await load(server.port, REQUESTS, awake)
  const clock = (performance.now() - start) * 1000
  const all = CLIENTS * REQUESTS
  return { processor: (await server.processor()) / all, clock: clock / all }
}

function median(numbers) {
  const sorted = [...numbers].sort((one, other) => one - other)
  const middle = sorted.length >> 1
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}

async function measured(framework, redis) {
  const rounds = []
  for (let turn = 0; turn < SERVERS; turn++) rounds.push(...(await measuredOnce(framework, redis)))
  return rounds
}

async function measuredOnce(framework, redis) {
  const store = redis ? 'redis' : 'memory'
  const limits = LIMITS.filter((limit) => (ALONE[limit] ?? store) === store)
  const servers = await Promise.all(limits.map((limit) => started(framework, limit, redis)))
  const rounds = []
  for (let number = 0; number < WARM_UP + ROUNDS; number++) {
    const each = {}
    // Each round begins with another server, so that none always follows the same one.
    for (let turn = 0; turn < servers.length; turn++) {
      const place = (number + turn) % servers.length
      each[limits[place]] = await round(servers[place], !redis)
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
    const verdict = limit === 'tidegate' ? `<= ${target} ${processor <= target ? 'met' : 'missed'}` : ''
    const shares = limit === 'peer' ? ['', ''] : [processor.toFixed(2), clock.toFixed(2)]
    const costs = ['processor', 'clock'].map((by) => `${cost(limit, by).toFixed(1)} us`)
    return [`${framework}, ${store}: ${NAMES[limit] ?? PEERS[framework]}`, rate(limit), ...costs, ...shares, verdict]
  }
  const bare = median(rounds.map((each) => each.none.processor))
  return [
    [`${framework}, ${store}: without`, rate('none'), `(${bare.toFixed(1)} us in all)`, '', '', '', ''],
    ...LIMITS.slice(1).filter((limit) => limit in rounds[0]).map(row),
  ]
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
