/** A relay in front of a server, which can lose what the server answers. */

import { connect, createServer } from 'node:net'
import { after } from 'node:test'

/** Passes on what comes to its `url`; while it is `deaf`, requests arrive and answers are lost. */
export class Relay {
  deaf = false
  url
  #ends = new Set()

  static async to(port) {
    const relay = new Relay()
    const listener = createServer((client) => relay.#pass(client, connect(port, '127.0.0.1')))
    await new Promise((resolve) => listener.listen(0, '127.0.0.1', resolve))
    relay.url = `redis://127.0.0.1:${listener.address().port}`
    after(() => {
      listener.close()
      relay.cut()
    })
    return relay
  }

  /** Ends every connection. */
  cut() {
    for (const end of this.#ends) end.destroy()
    this.#ends.clear()
  }

  #pass(client, server) {
    for (const [end, other] of [
      [client, server],
      [server, client],
    ]) {
      this.#ends.add(end)
      end.on('error', () => other.destroy())
      end.on('close', () => other.destroy())
      end.on('data', (data) => {
        if (end === client || !this.deaf) other.write(data)
      })
    }
  }
}
