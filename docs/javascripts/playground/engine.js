// The engine, compiled to WebAssembly: a request and a reply as JSON, through one buffer of its memory.

globalThis.playground = {}

/** Starts the engine; gives a function from requests to replies. */
playground.start = async () => {
  const packed = Uint8Array.from(atob(globalThis.tidegateEngine), (letter) => letter.charCodeAt(0))
  const unpacked = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'))
  const code = await new Response(unpacked).arrayBuffer()
  const { room, answer, place, memory } = (await WebAssembly.instantiate(code)).instance.exports
  const [encoder, decoder] = [new TextEncoder(), new TextDecoder()]
  return (request) => {
    const bytes = encoder.encode(JSON.stringify(request))
    const there = room(bytes.length)
    new Uint8Array(memory.buffer, there, bytes.length).set(bytes)
    const length = answer()
    return JSON.parse(decoder.decode(new Uint8Array(memory.buffer, place(), length)))
  }
}
