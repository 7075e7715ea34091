/** Messages over a WebSocket: each is limited by address; who sends far too many is disconnected. */

import { createServer } from 'node:http'
import { bucket, clientOf, Limiter } from 'tidegate'
import { WebSocketServer } from 'ws'

const limiter = new Limiter()
const messages = bucket({ key: 'messages', size: 2, dripRate: 60_000 })
const refused = bucket({ key: 'refused', size: 2, dripRate: 60_000 })
const POLICY_VIOLATION = 1008

export const server = createServer()
const sockets = new WebSocketServer({ server })

sockets.on('connection', (socket, request) => {
  const client = clientOf(request.socket.remoteAddress)
  socket.on('message', (data) => {
    const info = limiter.limitSync(messages, client)
    if (info.allowed) socket.send(data)
    else if (limiter.limitSync(refused, client).allowed) socket.send(JSON.stringify({ retryMs: info.resetMs }))
    else socket.close(POLICY_VIOLATION, 'too many messages')
  })
})
