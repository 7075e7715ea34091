/** A limit on every call of a gRPC server, as an interceptor: RESOURCE_EXHAUSTED, and when to come back as metadata. */

import { Metadata, Server, ServerInterceptingCall, status } from '@grpc/grpc-js'
import { bucket, clientOf, Limiter } from 'tidegate'

const limiter = new Limiter()
const calls = bucket({ key: 'grpc', size: 2, dripRate: 60_000 })

function rateLimit(_method, call) {
  return new ServerInterceptingCall(call, {
    start(next) {
      next({
        onReceiveMetadata(metadata, pass) {
          const info = limiter.limitSync(calls, clientOf(call.getPeer()))
          if (info.allowed) return pass(metadata)
          const trailer = new Metadata()
          trailer.set('retry-after', `${info.resetSec}`)
          call.sendStatus({ code: status.RESOURCE_EXHAUSTED, details: 'too many calls', metadata: trailer })
        },
      })
    },
  })
}

const text = { serialize: (value) => Buffer.from(value), deserialize: (bytes) => bytes.toString() }

/** A service without a file of its definition: texts in, texts out. */
export const greeter = {
  hello: {
    path: '/demo.Greeter/Hello',
    requestStream: false,
    responseStream: false,
    requestSerialize: text.serialize,
    requestDeserialize: text.deserialize,
    responseSerialize: text.serialize,
    responseDeserialize: text.deserialize,
  },
}

export const server = new Server({ interceptors: [rateLimit] })
server.addService(greeter, { hello: (call, reply) => reply(null, `hello ${call.request}`) })
