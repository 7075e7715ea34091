/** Real servers for tests: each on a free port of this machine, stopped by its own process id. */

import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'

/** A port that nobody listens at. */
export async function freePort() {
  const server = createServer()
  await new Promise((resolve, reject) => server.once('error', reject).listen(0, '127.0.0.1', resolve))
  const { port } = server.address()
  await new Promise((resolve) => server.close(resolve))
  return port
}

/** A redis-server that ends with the test file. */
export class RedisServer {
  #process
  #folder = mkdtempSync(join(tmpdir(), 'tidegate-redis-'))
  port
  url

  static async start() {
    const server = new RedisServer()
    server.port = await freePort()
    server.url = `redis://127.0.0.1:${server.port}`
    after(() => server.stop())
    await server.run()
    return server
  }

  /** Starts the process, also after it was killed, and waits until it answers. */
  async run() {
    const options = { port: this.port, bind: '127.0.0.1', save: '', appendonly: 'no', dir: this.#folder }
    const flags = Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)])
    const child = spawn('redis-server', flags, { stdio: 'ignore' })
    this.#process = child
    const failed = new Promise((_, reject) => {
      child.once('error', (cause) => reject(new Error('these tests need redis-server: please install it', { cause })))
      child.once('exit', (code) => reject(new Error(`redis-server ended with ${code}`)))
    })
    failed.catch(() => {})
    await Promise.race([failed, this.#answers()])
  }

  async #answers() {
    for (;;) {
      try {
        if ((await this.command('PING')).startsWith('+PONG')) return
      } catch {
        await sleep(10)
      }
    }
  }

  /** The server's answer to one command, as it comes over the wire. */
  command(...words) {
    return new Promise((resolve, reject) => {
      const socket = connect(this.port, '127.0.0.1')
      socket.once('error', reject)
      socket.once('data', (data) => {
        resolve(String(data))
        socket.destroy()
      })
      const bulk = words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`).join('')
      socket.write(`*${words.length}\r\n${bulk}`)
    })
  }

  /** The number of connections without this one. */
  async clients() {
    return (await this.command('CLIENT', 'LIST')).match(/^(\$\d+\r\n)?id=/gm).length - 1
  }

  /** The server answers nothing until it may go on. */
  pause() {
    this.#process.kill('SIGSTOP')
  }

  resume() {
    this.#process.kill('SIGCONT')
  }

  /** The server is gone. */
  async kill() {
    const gone = new Promise((resolve) => this.#process.once('exit', resolve))
    this.#process.kill('SIGKILL')
    if (this.#process.exitCode === null && this.#process.signalCode === null) await gone
  }

  async stop() {
    await this.kill()
    rmSync(this.#folder, { recursive: true, force: true })
  }
}

/** Asks until the answer is as wanted; fails after a while. */
export async function eventually(ask, wanted, ms = 5000) {
  const end = performance.now() + ms
  for (;;) {
    const answer = await ask()
    if (wanted(answer)) return answer
    if (performance.now() > end) throw new Error(`still not, after ${ms} ms: ${JSON.stringify(answer)}`)
    await sleep(5)
  }
}
