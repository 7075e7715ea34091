/** A route handler of Next: `app/api/hello/route.js`. */

import { rateLimit } from 'tidegate/web'

// Next gives a handler no address. Its server stands behind a proxy, which notes the client's in X-Forwarded-For.
const check = rateLimit({ limits: '3/minute', name: 'hello', trustedProxies: 1 })
const peer = { address: '127.0.0.1' }

export async function GET(request) {
  const limited = await check(request, peer)
  return limited.response ?? limited.apply(Response.json({ hello: 'world' }))
}
