// What a process of its own measures once for the scoreboard, in milliseconds: node once.mjs WHAT URL.

import { setTimeout as sleep } from 'node:timers/promises'
import { bucket, Limiter } from 'tidegate'

const [what, url] = process.argv.slice(2)
const limit = bucket({ key: 'once', size: 1e9, dripRate: 1 })
const since = (instant) => performance.now() - instant

const measures = {
  // Nobody listens there.
  async refused() {
    const began = performance.now()
    const limiter = new Limiter(url, { timeoutMs: 100, onError: 'local' })
    const made = since(began)
    const { degraded } = await limiter.limit(limit, 'ada')
    if (!degraded) throw new Error('somebody answered')
    return [made, since(began)]
  },
  // When the last answer came, by the clock that all processes share.
  async exit() {
    const limiter = new Limiter(url)
    await Promise.all(Array.from({ length: 50 }, (_, call) => limiter.limit(limit, `actor ${call}`)))
    return [Number(process.hrtime.bigint()) / 1e6]
  },
  // How much longer a charge takes in the middle if it waits for a replica.
  async replicas() {
    const limiters = [0, 1].map((waitReplicas) => new Limiter(url, { timeoutMs: 1000, onError: 'raise', waitReplicas }))
    const took = [[], []]
    for (let charge = 0; charge < 2000; charge++) {
      const began = performance.now()
      await limiters[charge % 2].limit(limit, 'ada')
      took[charge % 2].push(since(began))
    }
    const [without, waiting] = took.map((times) => times.sort((a, b) => a - b)[times.length / 2])
    return [waiting - without]
  },
  // How late the event loop comes to a timer at the most, and but for the latest hundredth.
  async lag() {
    const limiter = new Limiter(url, { timeoutMs: 5000, onError: 'raise' })
    await limiter.peek(limit, 'warm')
    const late = []
    let named = 0
    // Linux stops whoever has a real-time priority for the rest of a second in which it had 0.95 s.
    for (let round = 0; round < 4; round++) {
      await sleep(500)
      const end = performance.now() + 600
      const beat = async () => {
        for (let began = performance.now(); began < end; began = performance.now()) {
          await sleep(2)
          late.push(since(began) - 2)
        }
      }
      const caller = async () => {
        while (performance.now() < end) await limiter.limit(limit, `actor ${++named}`)
      }
      await Promise.all([beat(), ...Array.from({ length: 512 }, caller)])
    }
    late.sort((a, b) => a - b)
    return [late.at(-1), late[Math.floor(late.length * 0.99)]]
  },
}

console.log(JSON.stringify(await measures[what]()))
