/* Requests and responses of the web's own kind. */

import type { Refusal } from '../http/gate.js'
import type { Headers } from '../results/headers.js'

/** The response of a refusal; the answer to HEAD has no body. */
export function responseOf({ status, headers, body }: Refusal, method: string): Response {
  return new Response(method === 'HEAD' ? null : body, { status, headers })
}

/** True for a response that can be neither changed nor copied: an error, or a change of protocols. */
export const isNoAnswer = ({ status }: Response): boolean => status < 200

/** The same response with these headers; a copy where its own cannot be changed, as those of `fetch`. */
export function withHeaders(response: Response, headers: Headers): Response {
  const names = Object.keys(headers)
  if (names.length === 0 || isNoAnswer(response)) return response
  const set = (to: Response): Response => {
    for (const name of names) to.headers.set(name, headers[name] as string)
    return to
  }
  try {
    return set(response)
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    return set(new Response(response.body, response))
  }
}

/** Bodies that nobody reads to their end, nor gives up. */
const forgotten = new FinalizationRegistry<() => void>((end) => end())

/** Calls, perhaps again, when this object is forgotten; neither the function nor the token may know of it. */
export const whenForgotten = (object: object, end: () => void, token?: object): void =>
  forgotten.register(object, end, token)

/** Takes back what was registered with this token. */
export const notWhenForgotten = (token: object): void => void forgotten.unregister(token)

/** The same response, which calls when its body has ended, or is given up; at once where there is none to send. */
export function ending(response: Response, method: string, end: () => void): Response {
  const { body } = response
  if (body === null || method === 'HEAD' || isNoAnswer(response)) {
    end()
    return response
  }
  const reader = body.getReader()
  const watched = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done, value } = await reader.read()
          if (!done) return controller.enqueue(value)
          end()
          controller.close()
        } catch (error) {
          end()
          throw error
        }
      },
      async cancel(reason) {
        end()
        await reader.cancel(reason)
      },
    },
    { highWaterMark: 0 },
  )
  whenForgotten(watched, end)
  return new Response(watched, response)
}
