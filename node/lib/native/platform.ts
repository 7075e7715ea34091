import { closeSync, openSync, readSync } from 'node:fs'

/** The name that an addon for this platform has; the C library is part of it on Linux, where there are two. */
export function platformName(): string {
  const { platform, arch } = process
  if (platform === 'win32') return `win32-${arch}-msvc`
  if (platform !== 'linux') return `${platform}-${arch}`
  return `linux-${arch}-${isMusl() ? 'musl' : 'gnu'}`
}

/** The head of an executable, which names the loader that runs it. */
const HEAD_BYTES = 4096

/**
 * Says which C library this process runs on by the loader that its own executable names. Node's report would say it
 * too, but resolves the name of every peer of every socket first, and holds the event loop for as long as that takes.
 */
function isMusl(): boolean {
  try {
    const head = Buffer.alloc(HEAD_BYTES)
    const file = openSync(process.execPath, 'r')
    try {
      readSync(file, head, 0, HEAD_BYTES, 0)
    } finally {
      closeSync(file)
    }
    if (head.includes('/ld-musl-')) return true
    if (head.includes('/ld-linux') || head.includes('/ld64.so')) return false
  } catch {
    // An executable that may be run but not read.
  }
  return isMuslByReport()
}

function isMuslByReport(): boolean {
  const report = process.report as { excludeNetwork?: boolean; getReport(): object }
  const before = report.excludeNetwork
  report.excludeNetwork = true
  const { header } = report.getReport() as { header?: { glibcVersionRuntime?: string } }
  if (before !== undefined) report.excludeNetwork = before
  return header?.glibcVersionRuntime === undefined
}
