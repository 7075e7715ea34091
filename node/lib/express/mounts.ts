/* Keys of limits in Express: the routes and mounts that they stand at, as the app wrote them, and not as clients do. */

import type { Request } from 'express'
import type { Gate } from '../http/gate.js'
import { APP, mountName, routeName, takesAll } from '../room/route-names.js'

/** A route as Express has it in requests; one of `router.all` takes the method `_all`. */
interface Route {
  readonly path: unknown
  readonly methods?: Readonly<Record<string, boolean>>
}

/** The key of limits as text at the place of a request. It is told where the place is not known. */
export function nameOf({ route, app, baseUrl = '' }: Request, gate?: Gate): string {
  const mount = baseUrl === '' ? '' : mountOf(app as unknown as App | undefined, baseUrl, route)
  if (mount === undefined) gate?.report('name-missing', route === undefined ? 'a router' : String(route.path))
  const { path, methods = {} } = (route ?? {}) as Route
  if (path === undefined) return mount === undefined ? APP : mountName(mount)
  const named = Object.keys(methods)
  const whole = path === '/' && mount ? mount : `${mount ?? ''}/${path}`
  return routeName(named.includes('_all') || takesAll(named) ? [] : named, whole)
}

/** The part of an app that is read here; a router of Express 4 is in `_router`, where `router` is an error. */
interface App {
  readonly parent?: App
  readonly mountpath?: unknown
  readonly _router?: { readonly stack?: readonly Layer[] }
  readonly router?: { readonly stack?: readonly Layer[] }
}

/** A part of a router. Express 5 keeps its path in `rawPath`, Express 4 nothing but an expression. */
interface Layer {
  readonly route?: object
  readonly handle?: { readonly stack?: readonly Layer[] }
  readonly rawPath?: unknown
  readonly regexp?: RegExp & { readonly fast_slash?: boolean }
  readonly keys?: readonly { readonly name: string | number }[]
}

/** Routers in routers, which may be a circle. */
const DEEPEST = 16

/** Mounts without parameters, by their lower case: as many as an app has, whatever clients send. */
type Mounts = Map<string, string>

/** Those of each route, or of an app where there is no route. */
const fixed = new WeakMap<App, WeakMap<object, Mounts>>()

/** The path that the app has mounted something at, which clients ask for as this; nothing where it is not known. */
function mountOf(app: App | undefined, baseUrl: string, route: object | undefined): string | undefined {
  if (app === undefined) return undefined
  const asked = baseUrl.toLowerCase()
  const ofApp = fixed.get(app) ?? new WeakMap<object, Mounts>()
  const known = ofApp.get(route ?? app) ?? new Map<string, string>()
  const before = known.get(asked)
  if (before !== undefined) return before
  const mount = foundMount(app, baseUrl, route)
  if (mount?.toLowerCase() === asked) fixed.set(app, ofApp.set(route ?? app, known.set(asked, mount)))
  return mount
}

function foundMount(app: App, baseUrl: string, route: object | undefined): string | undefined {
  let left: readonly string[] | undefined = segmentsOf(baseUrl)
  let path = ''
  const apps: App[] = []
  // Without the outermost, which is mounted nowhere.
  for (let each = app; each.parent !== undefined; each = each.parent) apps.unshift(each)
  for (const each of apps) {
    if (typeof each.mountpath !== 'string') return undefined
    left = behind(left, each.mountpath)
    if (left === undefined) return undefined
    path = joined(path, each.mountpath)
  }
  if (left.length === 0) return path
  const { stack = [] } = app._router ?? app.router ?? {}
  const serving = route === undefined ? [] : below(stack, left, path, 0, route)
  const found = new Set(serving.length > 0 ? serving : below(stack, left, path, 0))
  return found.size === 1 ? found.values().next().value : undefined
}

/** The paths of what is below a router at this path and takes these segments; with a route, of the routers that serve it. */
function below(
  stack: readonly Layer[],
  segments: readonly string[],
  path: string,
  depth: number,
  route?: object,
): string[] {
  return stack.flatMap((layer) => {
    const template = layer.route === undefined ? templateOf(layer) : undefined
    const left = template === undefined ? undefined : behind(segments, template)
    if (template === undefined || left === undefined) return []
    const here = joined(path, template)
    const inside = layer.handle?.stack ?? []
    if (left.length === 0) return route === undefined || serves(inside, route, depth) ? [here] : []
    return depth < DEEPEST ? below(inside, left, here, depth + 1, route) : []
  })
}

/** True if a router has this route, or has mounted one that has it at its own path. */
function serves(stack: readonly Layer[], route: object, depth: number): boolean {
  return stack.some((layer) => {
    if (layer.route !== undefined) return layer.route === route
    return depth < DEEPEST && templateOf(layer) === '/' && serves(layer.handle?.stack ?? [], route, depth + 1)
  })
}

/** The path of a layer; nothing for an expression, a list, and what else only Express can read. */
function templateOf({ rawPath, regexp, keys = [] }: Layer): string | undefined {
  if (regexp === undefined) return typeof rawPath === 'string' && isPlain(rawPath) ? rawPath : undefined
  if (regexp.fast_slash) return '/'
  const names = keys.map(({ name }) => name)
  const text = regexp.source
    .replace(/^\^/, '')
    .replace('\\/?(?=\\/|$)', '')
    .replace(PARAMETER, (_, slash = '') => `${slash}:${names.shift()}`)
    .replace(/\\([/.-])/g, '$1')
  return isPlain(text) ? text : undefined
}

/** A parameter of Express 4, with the slash before it or without. */
const PARAMETER = /\(\?:(\\\/)?\(\[\^\\?\/\]\+\?\)\)/g

const isPlain = (path: string): boolean => !/[*?+(){}[\]|\\^$"]/.test(path)

/** The segments behind those that a path takes; nothing where it does not take the first ones. */
function behind(segments: readonly string[], path: string): readonly string[] | undefined {
  const taken = segmentsOf(path)
  const fits = taken.every((segment, index) => {
    const given = segments[index]
    return given !== undefined && (segment.includes(':') || segment.toLowerCase() === given.toLowerCase())
  })
  return fits ? segments.slice(taken.length) : undefined
}

const segmentsOf = (path: string): string[] => path.split('/').filter((segment) => segment !== '')

const joined = (path: string, more: string): string => (more === '/' ? path : `${path}/${more}`).replace(/\/+/g, '/')
