/** A server in the style of Sharkey: endpoints with limits of their own, users with roles, on Fastify. */

import Fastify from 'fastify'
import { RateLimiterService, sendRateLimitHeaders } from 'tidegate/sharkey'

const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** Endpoints and their limits, in both forms. */
export const endpoints = {
  'admin/emoji/add': { duration: HOUR, max: 100 },
  'admin/show-users': { type: 'bucket', size: 50, dripRate: 200 },
  'antennas/create': { duration: HOUR, max: 60, minInterval: 10 * SECOND },
  'antennas/notes': { type: 'bucket', size: 20, dripRate: 500 },
  'ap/show': { duration: HOUR, max: 30 },
  'auth/accept': { size: 10, dripRate: MINUTE },
  'blocking/create': { duration: HOUR, max: 20 },
  'blocking/delete': { duration: HOUR, max: 100 },
  'channels/create': { duration: DAY, max: 10 },
  'channels/timeline': { type: 'bucket', size: 30, dripRate: 250 },
  'clips/add-note': { duration: HOUR, max: 20 },
  'drive/files/create': { duration: HOUR, max: 120 },
  'drive/files/upload-from-url': { duration: HOUR, max: 60 },
  'following/create': { duration: HOUR, max: 100 },
  'following/delete': { duration: HOUR, max: 100 },
  'i/change-password': { duration: HOUR, max: 5 },
  'i/export-notes': { duration: DAY, max: 1 },
  'i/notifications': { type: 'bucket', size: 30, dripRate: 500, dripSize: 2 },
  'i/update': { duration: HOUR, max: 20, minInterval: SECOND },
  'i/update-email': { duration: HOUR, max: 3 },
  meta: { type: 'bucket', size: 100, dripRate: 100 },
  'notes/create': { duration: HOUR, max: 300 },
  'notes/delete': { duration: HOUR, max: 300, minInterval: SECOND },
  'notes/polls/vote': { duration: HOUR, max: 60 },
  'notes/reactions/create': { duration: MINUTE, max: 60 },
  'notes/search': { type: 'bucket', size: 5, dripRate: 2 * SECOND },
  'notes/timeline': { type: 'bucket', size: 60, dripRate: 100 },
  'notes/translate': { duration: MINUTE, max: 10 },
  'notifications/create': { duration: MINUTE, max: 10 },
  'sign-in': { minInterval: 2 * SECOND },
  'users/report-abuse': { duration: HOUR, max: 20 },
  ping: undefined,
}

const users = {
  token1: { id: '9user', role: 'default' },
  token2: { id: '9trusted', role: 'trusted' },
  token3: { id: '9admin', role: 'admin' },
}
const factors = { default: 1, trusted: 0.5, admin: 0 }

/** The app: `POST /api/<endpoint>` with a token in `i`. */
export function sharkeyApp(options) {
  const service = new RateLimiterService({ ...options, factor: async (user) => factors[user?.role ?? 'default'] })
  const app = Fastify({ forceCloseConnections: true })
  app.post('/api/*', async (request, reply) => {
    const name = request.params['*']
    if (!Object.hasOwn(endpoints, name)) return reply.code(404).send({ error: 'no such endpoint' })
    const limit = endpoints[name]
    if (limit !== undefined) {
      const actor = users[request.body?.i] ?? request.ip
      const info = await service.limit({ key: name, ...limit }, actor)
      sendRateLimitHeaders(reply, info)
      if (info.blocked) return reply.code(429).send({ error: { code: 'RATE_LIMIT_EXCEEDED', info } })
    }
    return { endpoint: name }
  })
  app.addHook('onClose', () => service.close())
  return app
}
