/** Real servers for tests: each on a free port of this machine, stopped by its own process id. */

import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'

/** Ports that no system gives to clients by itself: one that is free now stays so, but for other tests that draw it. */
const PORTS = { first: 10_000, count: 20_000 }

/** A port that nobody listens at. */
export async function freePort() {
  for (;;) {
    const port = PORTS.first + Math.floor(Math.random() * PORTS.count)
    const server = createServer()
    const isFree = await new Promise((resolve) => {
      server.once('error', () => resolve(false)).listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
    })
    if (isFree) return port
  }
}

/** A redis-server that ends with the test file. */
export class RedisServer {
  #process
  #folder = mkdtempSync(join(tmpdir(), 'tidegate-redis-'))
  port
  url

  static async start() {
    const server = new RedisServer()
    after(() => server.stop())
    for (let left = 5; ; left--) {
      server.port = await freePort()
      server.url = `redis://127.0.0.1:${server.port}`
      try {
        await server.run()
        return server
      } catch (error) {
        // Another test may have drawn the same port, and taken it first.
        if (left === 0 || server.#process.pid === undefined) throw error
      }
    }
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
    await Promise.race([failed, this.#answers(child)])
  }

  /** Waits until this process answers at its port, and no other one. */
  async #answers(child) {
    while (child.exitCode === null && child.signalCode === null) {
      try {
        if ((await this.command('INFO', 'server')).includes(`\r\nprocess_id:${child.pid}\r\n`)) return
      } catch {
        // Nobody listens yet.
      }
      await sleep(10)
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
