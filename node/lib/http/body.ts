/** A body that reads another one, and calls when that has ended, has failed, or is given up; perhaps more than once. */
export function untilEnded(body: ReadableStream<Uint8Array>, end: () => void): ReadableStream<Uint8Array> {
  const reader = body.getReader()
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
