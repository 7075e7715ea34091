/* Servers whose responses write what they carry: to give each response a method of its own takes longer. */

import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { hookPrototype, reserve } from './response.js'

type Of = new (request: IncomingMessage, options?: object) => ServerResponse
type Call = (this: ServerResponse, request: IncomingMessage, options?: object) => void
type Made = Record<symbol, unknown>

/**
 * Has a server of Node's make responses that write what they carry, where it makes plain ones: the class that the option
 * `ServerResponse` of `http.createServer` gives. The responses of any other server are hooked one by one.
 */
export function hookServer(server: object): void {
  for (const symbol of Object.getOwnPropertySymbols(server)) {
    if ((server as Made)[symbol] !== ServerResponse) continue
    carrying ??= carryingResponses()
    ;(server as Made)[symbol] = carrying
  }
}

let carrying: Of | undefined

/** The class of responses that have a place for a decision; Node's own, where that cannot be extended so. */
function carryingResponses(): Of {
  // A function, as Node's own is: the objects of a class that extends it take several times as long to make and to use.
  function CarryingResponse(this: ServerResponse, request: IncomingMessage, options?: object): void {
    ;(ServerResponse as unknown as Call).call(this, request, options)
    reserve(this)
  }
  Object.setPrototypeOf(CarryingResponse, ServerResponse)
  Object.setPrototypeOf(CarryingResponse.prototype, ServerResponse.prototype)
  // They look like any other.
  Object.defineProperty(CarryingResponse, 'name', { value: ServerResponse.name, configurable: true })
  hookPrototype(CarryingResponse.prototype)
  const made = CarryingResponse as unknown as Of
  try {
    new made(new IncomingMessage(new Socket()))
    return made
  } catch {
    return ServerResponse
  }
}
