/* The library that a store is for. Npm installs any version beside this package: an app may need an older one elsewhere. */

import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'

/** The error for a library that is too old for its store. */
export function tooOld(library: string, wanted: number): Error {
  const store = library.replace(/^@/, '').replace('/', '-')
  const found = installed(library)
  return new Error(
    `tidegate/stores/${store} needs ${library} ${wanted} or later${found === undefined ? '' : `, and found ${found}`}`,
  )
}

/** The version of a library, as this package finds it. Not by `require`, which only finds what a package exports. */
function installed(library: string): string | undefined {
  for (const folder of createRequire(__filename).resolve.paths(library) ?? []) {
    try {
      return JSON.parse(readFileSync(join(folder, library, 'package.json'), 'utf8')).version
    } catch {
      // Not in this folder.
    }
  }
  return undefined
}
