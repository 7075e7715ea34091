/** Bodies that nobody refers to any more: nobody will read them to their end, nor give them up. */
const forgotten = new FinalizationRegistry<() => void>((giveUp) => giveUp())

/**
 * A body that reads another one, and calls `end` when that has ended, has failed, or is given up or forgotten; perhaps
 * more than once. The call must not refer to the body, which would never be forgotten.
 */
export function untilEnded(body: ReadableStream<Uint8Array>, end: () => void): ReadableStream<Uint8Array> {
  const reader = body.getReader()
  // It may also fail while nobody reads, as when a caller aborts.
  reader.closed.then(end, end)
  const watched = new ReadableStream<Uint8Array>(
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
  forgotten.register(watched, () => {
    end()
    reader.cancel().catch(() => {})
  })
  return watched
}
