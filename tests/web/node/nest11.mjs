/** Import this first, and every `@nestjs` package behind it is version 11, of `tests/web/nest11`, for tidegate too. */

import Module, { createRequire, register } from 'node:module'

const folder = new URL('../nest11/', import.meta.url)
const packages = /^(@nestjs\/|@apollo\/|@as-integrations\/|graphql(\/|$)|reflect-metadata|rxjs)/
const from11 = createRequire(new URL('package.json', folder))

const resolve = Module._resolveFilename
Module._resolveFilename = function (request, parent, ...rest) {
  const inside = parent?.filename?.startsWith(folder.pathname)
  return inside || !packages.test(request) ? resolve.call(this, request, parent, ...rest) : from11.resolve(request)
}

const hook = `
  export const resolve = (specifier, context, next) => {
    const outside = !context.parentURL?.startsWith('${folder}')
    const there = { ...context, parentURL: '${new URL('package.json', folder)}' }
    return next(specifier, outside && ${packages}.test(specifier) ? there : context)
  }
`
register(`data:text/javascript,${encodeURIComponent(hook)}`)
