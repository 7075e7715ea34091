/* Servers in processes of their own, and requests to them. */

import { fork } from 'node:child_process'
import { connect } from 'node:net'
import { fileURLToPath } from 'node:url'

const CONNECTIONS = 16
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

/** So many requests over connections that stay open, each connection one at a time. */
export function load(port, requests) {
  let left = requests
  const one = () =>
    new Promise((resolve, reject) => {
      const socket = connect(port, '127.0.0.1')
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
  return Promise.all(Array.from({ length: CONNECTIONS }, one))
}
