/**
 * Worker threads with an application each: `node threads.mjs THREADS [URL]`. Prints the code of each warning, and "over"
 * once a further thread has come after all others were gone.
 */

import { once } from 'node:events'
import { isMainThread, parentPort, Worker } from 'node:worker_threads'
import { Limiter } from 'tidegate'
import { rateLimit } from 'tidegate/web'

const [, , threads, store] = process.argv

async function started() {
  const worker = new Worker(new URL(import.meta.url), { argv: process.argv.slice(2) })
  const ready = new Promise((resolve) => {
    worker.on('message', (message) => (message === 'ready' ? resolve() : console.log(message)))
  })
  await ready
  return worker
}

if (isMainThread) {
  const workers = []
  for (let thread = 0; thread < Number(threads); thread++) workers.push(await started())
  for (const worker of workers) {
    worker.postMessage('stop')
    await once(worker, 'exit')
  }
  const last = await started()
  last.postMessage('stop')
  await once(last, 'exit')
  console.log('over')
} else {
  process.on('warning', ({ code }) => parentPort.postMessage(code))
  const check = rateLimit({ limits: '5/minute', ...(store && { limiter: new Limiter(store) }) })
  for (let call = 0; call < 5; call++) {
    const { info } = await check(new Request('http://localhost/'), { address: '203.0.113.9' })
    if (info.blocked) parentPort.postMessage('blocked')
  }
  setImmediate(() => parentPort.postMessage('ready'))
  parentPort.once('message', () => parentPort.close())
}
