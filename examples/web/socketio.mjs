/** Messages over socket.io: each event of a socket is limited, and the client is told when to come back. */

import { createServer } from 'node:http'
import { Server } from 'socket.io'
import { bucket, clientOf, Limiter } from 'tidegate'

const limiter = new Limiter()
const messages = bucket({ key: 'messages', size: 2, dripRate: 60_000 })

export const server = createServer()
const io = new Server(server)

io.on('connection', (socket) => {
  const client = clientOf(socket.handshake.address)
  socket.use(async (_event, next) => {
    const info = await limiter.limit(messages, client)
    next(info.blocked ? Object.assign(new Error('too many messages'), { data: { retryMs: info.resetMs } }) : undefined)
  })
  // What `next` is given arrives here, not at the client.
  socket.on('error', (error) => socket.emit('limited', error.data))
  socket.on('message', (text, reply) => reply(text))
})
