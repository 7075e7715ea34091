// As holds.py: so many holds under way of ten places, for so long; or all places, which it keeps.

import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { BlockedError, concurrency, Limiter } from 'tidegate'

const [PLACES, LEASE_MS, WORK_MS] = [10, 2000, 400]
const [url, underWay, seconds] = process.argv.slice(2)
const limiter = new Limiter(url, { timeoutMs: 5000, onError: 'raise' })
const limit = concurrency({ key: 'places', max: PLACES, lease: LEASE_MS })

/** The server's clock, by a connection of its own: answers come in the order of the questions. */
function serverClock() {
  const socket = connect(Number(new URL(url).port), '127.0.0.1').setNoDelay()
  const asked = []
  let text = ''
  socket.on('data', (data) => {
    text += data
    for (;;) {
      const answer = /^\*2\r\n\$\d+\r\n(\d+)\r\n\$\d+\r\n(\d+)\r\n/.exec(text)
      if (answer === null) return
      text = text.slice(answer[0].length)
      asked.shift()(Number(answer[1]) + Number(answer[2]) / 1e6)
    }
  })
  const now = () =>
    new Promise((resolve) => {
      asked.push(resolve)
      socket.write('*1\r\n$4\r\nTIME\r\n')
    })
  return { now, close: () => socket.destroy() }
}

if (seconds === undefined) {
  for (let place = 0; place < PLACES; place++) await limiter.hold(limit, 'everybody')
  console.log('held')
  await sleep(60_000)
}

const { now, close } = serverClock()
const first = await now()
const end = performance.now() + Number(seconds) * 1000
const inside = []
let lost = 0
await Promise.all(
  Array.from({ length: Number(underWay) }, async () => {
    for (;;) {
      const maxWaitMs = end - performance.now()
      if (maxWaitMs <= 0) return
      const over = limiter.hold(limit, 'everybody', { maxWaitMs }, async (held) => {
        const began = await now()
        await sleep(WORK_MS)
        inside.push([began, await now()])
        lost += Number(held.lost)
      })
      await over.catch((error) => {
        if (!(error instanceof BlockedError)) throw error
      })
    }
  }),
)
close()
console.log(JSON.stringify({ inside, lost, first }))
