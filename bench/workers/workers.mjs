/**
 * The same as `workers.py`, with the processes of `node:cluster`: `workers.mjs WHO PLACE`.
 *
 * Where an answer has to be waited for, each process has 64 calls under way.
 */

import cluster from 'node:cluster'
import { RateLimiterCluster, RateLimiterClusterMaster } from 'rate-limiter-flexible'
import { fixedWindow, Limiter } from 'tidegate'

const WORKERS = 4
const [ASKED, ADMITTED] = [1000, 500]
const PLENTY = 1e8
const SECONDS = 2
const CALLERS = 64
const BATCH = 10

const contenders = {
  tidegate(url, key, count) {
    const [limiter, limit] = [new Limiter(url), fixedWindow({ key, max: count, period: 3_600_000 })]
    return () => !limiter.limitSync(limit, 'ada').blocked
  },
  'rate-limiter-flexible'(_, key, count) {
    const limiter = new RateLimiterCluster({ keyPrefix: key, points: count, duration: 3600, timeoutMs: 10_000 })
    return () =>
      limiter.consume('ada').then(
        () => true,
        (reason) => {
          if (reason instanceof Error) throw reason
          return false
        },
      )
  },
}

/** The admitted ones of so many calls, counted. */
async function admitted(ask, calls) {
  const answers = []
  for (let call = 0; call < calls; call++) answers.push(ask())
  return (await Promise.all(answers)).filter(Boolean).length
}

/** Those admitted in a second. */
async function rate(ask) {
  const start = performance.now()
  let calls = 0
  async function caller() {
    while (performance.now() < start + SECONDS * 1000) {
      for (let call = 0; call < BATCH; call++) {
        const answer = ask()
        if (answer === true || (await answer)) calls++
      }
    }
  }
  await Promise.all(Array.from({ length: CALLERS }, caller))
  return calls / ((performance.now() - start) / 1000)
}

const [who, place] = process.argv.slice(2)

/** The sum of what the workers answer to a part, which all of them do at the same time. */
async function inAll(workers, part) {
  const answers = workers.map(answerOf)
  for (const worker of workers) worker.send(part)
  return (await Promise.all(answers)).reduce((sum, answer) => sum + answer, 0)
}

/** Among a worker's messages, some of which are the peer's. */
function answerOf(worker) {
  return new Promise((resolve) => {
    worker.on('message', function heard({ answer }) {
      if (answer === undefined) return
      worker.off('message', heard)
      resolve(answer)
    })
  })
}

if (cluster.isPrimary) {
  if (who === 'rate-limiter-flexible') new RateLimiterClusterMaster()
  const workers = Array.from({ length: WORKERS }, () => cluster.fork())
  for (const worker of workers) {
    worker.on('exit', (code) => {
      if (code) process.exit(code)
    })
  }
  await Promise.all(workers.map(answerOf))
  const few = await inAll(workers, 'few')
  const plenty = await inAll(workers, 'plenty')
  for (const worker of workers) worker.disconnect()
  console.log(JSON.stringify({ admitted: few, per_second: plenty }))
} else {
  const few = contenders[who](place, 'few', ADMITTED)
  const plenty = contenders[who](place, 'plenty', PLENTY)
  process.on('message', async (part) => {
    if (part === 'few') process.send({ answer: await admitted(few, ASKED / WORKERS) })
    if (part === 'plenty') process.send({ answer: await rate(plenty) })
  })
  process.send({ answer: 0 })
}
