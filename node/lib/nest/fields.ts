/* The headers of GraphQL: a response has several fields, each of them decided by itself. */

import { withoutBody } from '../http/gate.js'
import type { LimitInfo } from '../results/info.js'
import type { Room } from '../room/room.js'
import type { Incoming } from './contexts.js'
import type { PlatformRequest } from './module-options.js'

/** The answers that headers tell of: of each room the newest one that admitted, and the refusal with the longest wait. */
interface Answers {
  admitted?: LimitInfo
  refused?: LimitInfo
}

const answersOf = new WeakMap<object, Map<Room<PlatformRequest>, Answers>>()

/** Puts the headers of an answer on a response that has not begun, merged with those of the other fields. */
export function tellFields({ response, raw }: Incoming, room: Room<PlatformRequest>, info: LimitInfo): void {
  if (raw === undefined || typeof raw.setHeader !== 'function' || raw.headersSent) return
  const rooms = answersOf.get(raw) ?? new Map<Room<PlatformRequest>, Answers>()
  answersOf.set(raw, rooms)
  const answers = rooms.get(room) ?? {}
  rooms.set(room, answers)
  if (!info.blocked) answers.admitted = info
  else if (answers.refused === undefined || answers.refused.resetMs < info.resetMs) answers.refused = info
  const each = [...rooms.values()].flatMap(({ admitted, refused }) => [admitted, refused])
  const infos = each.filter((info) => info !== undefined)
  const isRefused = infos.some(({ blocked }) => blocked)
  // The body of a refusal is the driver's.
  const headers = isRefused ? withoutBody(room.gate.refusal(infos).headers) : room.gate.headers(infos)
  for (const name in headers) {
    if (response?.raw !== undefined) response.header?.(name, headers[name] as string)
    else raw.setHeader(name, headers[name] as string)
  }
}
