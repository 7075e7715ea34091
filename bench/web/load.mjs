/* Servers in processes of their own, and requests to them. */

import { fork } from 'node:child_process'
import { connect } from 'node:net'
import { fileURLToPath } from 'node:url'

/** Clients of one round, each with a connection and an address of its own. */
export const CLIENTS = 20
const REQUEST = 'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n'
const BODY = 'hello world'
const script = fileURLToPath(new URL('server.mjs', import.meta.url))

/**
 * A server of one framework and limit; `processor` gives the microseconds that its process used since it was last
 * asked.
 */
export async function started(framework, limit, redis) {
  const child = fork(script, [framework, limit, redis], { env: { ...process.env, NODE_ENV: 'production' } })
  const next = () =>
    new Promise((resolve, reject) => {
      const failed = () => reject(new Error(`the server of ${framework} with ${limit} ended`))
      child.once('exit', failed)
      child.once('message', (message) => {
        child.off('exit', failed)
        resolve(message)
      })
    })
  const port = await next()
  const processor = () => {
    child.send('')
    return next()
  }
  return { port, processor, stop: () => child.disconnect() }
}

let clients = 0

/** The next address of this machine, which no client had before. Linux answers at all of 127.0.0.0/8. */
function newAddress() {
  clients++
  return `127.${1 + (clients >> 16)}.${(clients >> 8) & 255}.${clients & 255}`
}

/**
 * So many requests of each client, over a connection that stays open, one at a time. With `awake`, the clients never
 * sleep: a server has to wake one that does, which takes its processor longer the seldomer it answers, and so would count
 * much of a cost twice.
 */
export async function load(port, requests, awake) {
  let busy = awake
  const turn = () => busy && setImmediate(turn)
  turn()
  try {
    await Promise.all(Array.from({ length: CLIENTS }, () => client(port, requests)))
  } finally {
    busy = false
  }
}

function client(port, requests) {
  return new Promise((resolve, reject) => {
      const socket = connect({ port, host: '127.0.0.1', localAddress: newAddress() })
      let left = requests
      let text = ''
      const ask = () => (left-- > 0 ? socket.write(REQUEST) : socket.end(resolve))
      socket.setNoDelay(true).setEncoding('latin1').once('connect', ask)
      socket.once('error', reject).once('close', () => reject(new Error('the server closed a connection')))
      socket.on('data', (chunk) => {
        text += chunk
        if (!text.endsWith(BODY)) return
        if (!text.startsWith('HTTP/1.1 200')) reject(new Error(text))
        text = ''
        ask()
      })
    })
}
