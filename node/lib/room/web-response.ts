/* Requests and responses of the web's own kind. */

import { untilEnded } from '../http/body.js'
import type { Refusal } from '../http/gate.js'
import type { Headers } from '../results/headers.js'

/** The response of a refusal; the answer to HEAD has no body. Of an empty text, the web would say its type. */
export function responseOf({ status, headers, body }: Refusal, method: string): Response {
  return new Response(method === 'HEAD' ? null : body || null, { status, headers })
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

/** Ends of answers that nobody applies, nor releases. */
export const forgotten = new FinalizationRegistry<() => void>((end) => end())

/**
 * The same response, which calls when its body has ended, or is given up, perhaps more than once; at once where there is
 * none to send.
 */
export function ending(response: Response, method: string, end: () => void, until = untilEnded): Response {
  const { body } = response
  if (body === null || method === 'HEAD' || isNoAnswer(response)) {
    end()
    return response
  }
  return new Response(until(body, end), response)
}
