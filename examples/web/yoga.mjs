/** A limit on every operation of GraphQL Yoga, as a plugin. */

import { createServer } from 'node:http'
import { createSchema, createYoga } from 'graphql-yoga'
import { rateLimit } from 'tidegate/web'

const schema = createSchema({
  typeDefs: 'type Query { hello: String }',
  resolvers: { Query: { hello: () => 'world' } },
})

/** Checks a request before it is parsed, and puts the headers on its response. */
function useRateLimit(options) {
  const check = rateLimit(options)
  const checked = new WeakMap()
  return {
    async onRequest({ request, endResponse, serverContext }) {
      const limited = await check(request, { address: serverContext.req.socket.remoteAddress })
      checked.set(request, limited)
      if (limited.response) endResponse(limited.response)
    },
    onResponse({ request, response, setResponse }) {
      const limited = checked.get(request)
      if (limited && !limited.response) setResponse(limited.apply(response))
    },
  }
}

export const server = createServer(
  createYoga({ schema, plugins: [useRateLimit({ limits: '2/minute', name: 'graphql' })], logging: false }),
)
