/** Procedures of tRPC with limits of their own, by a middleware of tRPC. */

import { initTRPC, TRPCError } from '@trpc/server'
import { fetchRequestHandler } from '@trpc/server/adapters/fetch'
import { bucket, Limiter, parseLimit } from 'tidegate'

const limiter = new Limiter()
const t = initTRPC.context().create()

/** A procedure that is limited for each user. */
const limited = (limit) =>
  t.procedure.use(async ({ ctx, next }) => {
    const info = await limiter.limit(limit, ctx.user)
    for (const [name, value] of Object.entries(info.headers())) ctx.headers.set(name, value)
    if (info.blocked) throw new TRPCError({ code: 'TOO_MANY_REQUESTS', message: `retry in ${info.resetSec} s` })
    return next()
  })

const router = t.router({
  hello: limited(parseLimit('hello', '2/minute')).query(() => 'world'),
  send: limited(bucket({ key: 'send', size: 1 })).mutation(() => 'sent'),
})

/** Answers a `Request`. */
export const handler = (request) =>
  fetchRequestHandler({
    endpoint: '/trpc',
    req: request,
    router,
    createContext: ({ req, resHeaders }) => ({ user: req.headers.get('x-user') ?? 'nobody', headers: resHeaders }),
  })
