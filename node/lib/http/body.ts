/** A body that reads another one, and calls, perhaps more than once, when that has ended, has failed, or is given up. */
export const untilEnded = (body: ReadableStream<Uint8Array>, end: () => void): ReadableStream<Uint8Array> =>
  watched(body.getReader(), end)

/**
 * The same for a body that nobody may read to its end, nor give up: it is given up when nothing refers to it any more. The
 * call must not refer to it, either.
 */
export function untilForgotten(body: ReadableStream<Uint8Array>, end: () => void): ReadableStream<Uint8Array> {
  const reader = body.getReader()
  const read = watched(reader, end)
  forgotten.register(read, () => {
    end()
    reader.cancel().catch(() => {})
  })
  return read
}

const forgotten = new FinalizationRegistry<() => void>((giveUp) => giveUp())

function watched(reader: ReadableStreamDefaultReader<Uint8Array>, end: () => void): ReadableStream<Uint8Array> {
  // It may also fail while nobody reads, as when a caller aborts.
  reader.closed.then(end, end)
  return new ReadableStream(
    {
      async pull(controller) {
        try {
          const { done, value } = await reader.read()
          if (!done) return controller.enqueue(value)
        } catch (error) {
          end()
          throw error
        }
        end()
        controller.close()
      },
      cancel(reason) {
        end()
        return reader.cancel(reason)
      },
    },
    { highWaterMark: 0 },
  )
}
