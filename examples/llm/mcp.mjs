/** A server of the Model Context Protocol whose tool is limited per user and per session. */

import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { Limiter, tokenBucket } from 'tidegate'
import { limitTool } from 'tidegate/llm'
import { Clock } from 'tidegate/testing'
import { z } from 'zod'

const BY_USER = tokenBucket({ key: 'search-user', count: 100, period: 3_600_000 })
const BY_SESSION = tokenBucket({ key: 'search-session', count: 1, period: 60_000 })

/** A server with one tool. Its clock stands still; a server that runs leaves it out. */
export function toolServer(clock = new Clock()) {
  const limiter = new Limiter({ clock })
  const server = new McpServer({ name: 'library', version: '1.0.0' })

  const search = limitTool(
    limiter,
    // Over HTTP, the token and the session say who calls; over pipes there is one user and one session.
    (_, { authInfo, sessionId }) => [
      { limit: BY_USER, actor: authInfo?.clientId ?? 'local' },
      { limit: BY_SESSION, actor: sessionId ?? 'local' },
    ],
    async ({ query }) => ({ content: [{ type: 'text', text: `nothing about ${query}` }] }),
  )
  // What a tool throws becomes a result that the agent reads: it says when to retry.
  server.registerTool('search', { description: 'Searches the library', inputSchema: { query: z.string() } }, search)
  return { server, clock }
}
