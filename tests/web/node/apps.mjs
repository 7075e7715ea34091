/** One small app for each framework, with the same routes, on a real server. */

import 'reflect-metadata'
import { once } from 'node:events'
import { createServer, request as requestFrom } from 'node:http'
import { Readable } from 'node:stream'
import { after } from 'node:test'
import { serve } from '@hono/node-server'
import { getConnInfo } from '@hono/node-server/conninfo'
import { Router } from '@koa/router'
import {
  Controller,
  Get,
  HttpCode,
  Module,
  Post,
  Redirect,
  Req,
  StreamableFile,
  UnauthorizedException,
  UseGuards,
} from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { ExpressAdapter } from '@nestjs/platform-express'
import { FastifyAdapter } from '@nestjs/platform-fastify'
import express5 from 'express'
import express4 from 'express4'
import Fastify from 'fastify'
import { Hono } from 'hono'
import Koa3 from 'koa'
import Koa2 from 'koa2'
import { rateLimit as forExpress } from 'tidegate/express'
import forFastify from 'tidegate/fastify'
import { rateLimit as forHono } from 'tidegate/hono'
import { rateLimit as forKoa } from 'tidegate/koa'
import { RateLimit, TidegateGuard, TidegateModule } from 'tidegate/nestjs'
import { rateLimit as forWeb } from 'tidegate/web'
import { decorate } from './decorate.mjs'

/** The routes of every app: a text, what is left, a stream, an error, a redirection, and a login that fails without a password. */
const chunks = ['one ', 'two ', 'three']
const failing = () => {
  throw new Error('on purpose')
}
/** A body that begins, and does not end. */
function open() {
  const body = new Readable({ read() {} })
  body.push('open')
  return body
}
/** Limits of a route, or options with them, that are added to those of the app. */
const added = (route) => ({ ...(route.limits ? route : { limits: route }), adds: true })
const granted = (url) => url.includes('password')
/** The status of an item: `/items/{id}`, and the same under `/shop`, whose limits are those of a router. */
const statusOf = (url) => (url.includes('/login') && !granted(url) ? 401 : 200)
const METHODS = ['get', 'post']

/** Starts a server on a free port, which ends with the test file; the URL of its top. */
export async function listening(server) {
  if (!server.listening) await once(server, 'listening')
  after(() => stop(server))
  return `http://127.0.0.1:${server.address().port}`
}

export function stop(server) {
  server.close()
  server.closeAllConnections?.()
}

const expressApp =
  (express) =>
  async (options, { route, item, router, settings = {} } = {}) => {
    const app = express()
    app.set('env', 'test')
    for (const [name, value] of Object.entries(settings)) app.set(name, value)
    const limit = forExpress(options)
    app.use(limit)
    for (const method of METHODS) app[method]('/', (_request, response) => response.send('hello'))
    const shop = express.Router()
    if (router) shop.use(limit.and(router))
    for (const routes of item ? [app, shop] : []) {
      for (const method of METHODS) {
        routes[method]('/items/:id', limit.and(item), ({ url }, response) =>
          response.status(statusOf(url)).send('item'),
        )
      }
    }
    shop.get('/cart', (_request, response) => response.send('cart'))
    app.use('/shop', shop)
    app.get('/left', (request, response) => response.json(request.rateLimit.remaining))
    app.get('/stream', (_request, response) => Readable.from(chunks).pipe(response))
    app.get('/open', (_request, response) => open().pipe(response))
    app.get('/never', () => {})
    app.get('/error', failing)
    app.get('/redirect', (_request, response) => response.redirect('/'))
    app.get('/login', (request, response) => response.status(granted(request.url) ? 200 : 401).send('login'))
    if (route) app.get('/route', limit.and(route), (_request, response) => response.send('route'))
    return { url: await listening(app.listen(settings.port ?? 0, '127.0.0.1')), trials: limit.trials }
  }

async function fastifyApp(options, { route, item, router, settings = {} } = {}) {
  const { port = 0, ...instance } = settings
  const app = Fastify({ ...instance, forceCloseConnections: true })
  await app.register(forFastify, options)
  for (const method of METHODS) app[method]('/', () => 'hello')
  const addItems = (routes) => {
    const config = { rateLimit: { ...item, adds: true } }
    for (const method of item ? METHODS : []) {
      routes[method]('/items/:id', { config }, ({ url }, reply) => reply.code(statusOf(url)).send('item'))
    }
  }
  addItems(app)
  const shop = async (routes) => {
    if (router) await routes.register(forFastify, router)
    addItems(routes)
    routes.get('/cart', () => 'cart')
  }
  await app.register(shop, { prefix: '/shop' })
  app.get('/left', (request, reply) => reply.send(JSON.stringify(request.rateLimit.remaining)))
  app.get('/stream', (_request, reply) => reply.send(Readable.from(chunks)))
  app.get('/open', (_request, reply) => reply.send(open()))
  app.get('/never', () => new Promise(() => {}))
  app.get('/error', failing)
  app.get('/redirect', (_request, reply) => reply.redirect('/'))
  app.get('/login', (request, reply) => reply.code(granted(request.url) ? 200 : 401).send('login'))
  if (route) app.get('/route', { config: { rateLimit: added(route) } }, () => 'route')
  await app.listen({ port, host: '127.0.0.1' })
  after(() => app.close())
  return { url: `http://127.0.0.1:${app.server.address().port}`, trials: () => app.rateLimit.trials() }
}

const koaApp =
  (Koa) =>
  async (options, { route, item, router, settings = {} } = {}) => {
    const { port = 0, ...fields } = settings
    const app = Object.assign(new Koa(), fields)
    app.silent = true
    const limit = forKoa(options)
    app.use(limit)
    const more = route === undefined ? undefined : limit.and(route)
    app.use((context, next) => (more && context.path === '/route' ? more(context, next) : next()))
    const [items, shop] = [new Router(), new Router({ prefix: '/shop' })]
    if (router) shop.use(limit.and(router))
    for (const routes of item ? [items, shop] : []) {
      for (const method of METHODS) {
        routes[method]('/items/:id', limit.and(item), (context) => {
          context.status = statusOf(context.url)
        })
      }
    }
    shop.get('/cart', (context) => {
      context.status = 200
    })
    app.use(items.routes())
    app.use(shop.routes())
    app.use((context) => {
      if (context.path === '/error') failing()
      if (context.path === '/redirect') context.redirect('/')
      else if (context.path === '/stream') context.body = Readable.from(chunks)
      else if (context.path === '/open') context.body = open()
      else if (context.path === '/never') return new Promise(() => {})
      else if (context.path === '/left') context.body = `${context.state.rateLimit.remaining}`
      else if (context.path === '/login') context.status = granted(context.url) ? 200 : 401
      else context.body = context.path === '/' ? 'hello' : 'route'
    })
    return { url: await listening(app.listen(port, '127.0.0.1')), trials: limit.trials }
  }

async function honoApp(options, { route, item, router, settings = {} } = {}) {
  const app = new Hono()
  const limit = forHono(Object.assign(Object.create(Object.getPrototypeOf(options)), { getConnInfo }, options))
  app.use(limit)
  for (const method of METHODS) app[method]('/', (context) => context.text('hello'))
  const shop = new Hono()
  if (router) shop.use(limit.and(router))
  for (const routes of item ? [app, shop] : []) {
    for (const method of METHODS) {
      routes[method]('/items/:id', limit.and(item), (context) => context.text('item', statusOf(context.req.url)))
    }
  }
  shop.get('/cart', (context) => context.text('cart'))
  app.route('/shop', shop)
  app.get('/left', (context) => context.json(context.var.rateLimit.remaining))
  app.get('/stream', () => new Response(ReadableStream.from(chunks.map((chunk) => Buffer.from(chunk)))))
  app.get('/open', () => new Response(Readable.toWeb(open())))
  app.get(
    '/never',
    ({ req }) => new Promise((resolve) => req.raw.signal.addEventListener('abort', () => resolve(new Response('')))),
  )
  app.get('/error', failing)
  app.get('/redirect', (context) => context.redirect('/'))
  app.get('/login', (context) => context.text('login', granted(context.req.url) ? 200 : 401))
  if (route) app.get('/route', limit.and(route), (context) => context.text('route'))
  app.onError((error) => error.getResponse?.() ?? new Response('error', { status: 500 }))
  const server = serve({ fetch: app.fetch, port: settings.port ?? 0, hostname: '127.0.0.1' })
  return { url: await listening(server), trials: limit.trials }
}

/** Node's own server, which hands a `Request` to a handler and writes the `Response`. */
async function webApp(options, { route, item, router, settings = {} } = {}) {
  const check = forWeb(options)
  const ofShop = router ? check.and(router) : check
  /** The limits of a place, and their check. */
  const places = Object.entries({
    '/route': route && check.and(route),
    '/items/': item && check.and(item),
    '/shop/items/': item && ofShop.and(item),
    '/shop/': ofShop,
  })
  const checkOf = (url) => places.find(([path, own]) => own && url.startsWith(path))?.[1] ?? check
  const respond = (path, info) => {
    if (path === '/left') return new Response(`${info.remaining}`)
    if (path === '/error') return new Response('error', { status: 500 })
    if (path === '/redirect') return Response.redirect('http://localhost/')
    if (path === '/stream') return new Response(ReadableStream.from(chunks.map((chunk) => Buffer.from(chunk))))
    if (path === '/open') return new Response(Readable.toWeb(open()))
    if (path.includes('/login')) return new Response('login', { status: statusOf(path) })
    return new Response(path === '/' ? 'hello' : 'route')
  }
  const server = createServer(async (incoming, outgoing) => {
    const headers = Object.entries(incoming.headers).map(([name, value]) => [name, String(value)])
    const request = new Request(`http://localhost${incoming.url}`, { headers, method: incoming.method })
    const limited = await checkOf(incoming.url)(request, { address: incoming.socket.remoteAddress }).catch(
      () => undefined,
    )
    const response =
      limited?.response ?? limited?.apply(respond(incoming.url, limited.info)) ?? new Response('', { status: 500 })
    outgoing.writeHead(response.status, [...response.headers].flat())
    const body = response.body === null ? Readable.from([]) : Readable.fromWeb(response.body)
    outgoing.on('close', () => body.destroy())
    body.pipe(outgoing)
  })
  return { url: await listening(server.listen(settings.port ?? 0, '127.0.0.1')), trials: check.trials }
}

/** An app of NestJS over one of its platforms, with classes of its own. */
const nestApp =
  (adapterOf) =>
  async (options, { route, item, router, settings = {} } = {}) => {
    const { port = 0, path, guard, ...own } = settings
    class Routes {}
    class Shop {}
    const methods = {
      hello: () => 'hello',
      left: ({ rateLimit }) => JSON.stringify(rateLimit.remaining),
      stream: () => new StreamableFile(Readable.from(chunks.map((chunk) => Buffer.from(chunk)))),
      open: () => new StreamableFile(open()),
      login({ url }) {
        if (statusOf(url) === 401) throw new UnauthorizedException('login')
        return 'login'
      },
      error: failing,
      redirect: () => ({}),
      route: () => 'route',
      save: () => 'saved',
    }
    for (const [name, value] of Object.entries(methods)) {
      Object.defineProperty(Routes.prototype, name, { value, configurable: true, writable: true })
    }
    for (const name of ['left', 'login']) Req()(Routes.prototype, name, 0)
    for (const routes of item ? [Routes, Shop] : []) {
      for (const [name, Method] of [
        ['read', Get],
        ['write', Post],
      ]) {
        // Each has a function of its own, because decorators write on it.
        const value = (request) => methods.login(request)
        Object.defineProperty(routes.prototype, name, { value, configurable: true, writable: true })
        Req()(routes.prototype, name, 0)
        decorate(routes, name, Method('items/:id'), HttpCode(200), RateLimit({ ...item, adds: true }))
      }
    }
    Object.defineProperty(Shop.prototype, 'cart', { value: () => 'cart', configurable: true, writable: true })
    decorate(Shop, 'cart', Get('cart'))
    Controller('shop')(Shop)
    if (router) RateLimit({ ...router, adds: true })(Shop)
    decorate(Routes, 'hello', Get('/'))
    decorate(Routes, 'save', Post('/'), HttpCode(200))
    for (const name of ['left', 'stream', 'open', 'login', 'error']) decorate(Routes, name, Get(name))
    decorate(Routes, 'redirect', Get('redirect'), Redirect('/'))
    if (route) decorate(Routes, 'route', Get('route'), RateLimit(added(route)))
    Controller()(Routes)
    if (guard) UseGuards(guard)(Routes)
    class App {}
    Module({ imports: [TidegateModule.forRoot(options)], controllers: [Routes, Shop] })(App)
    const app = await NestFactory.create(App, adapterOf(own), { logger: false, abortOnError: false })
    if (adapterOf === expressOf) for (const [name, value] of Object.entries(own)) app.set(name, value)
    after(() => app.close())
    await (path ? app.listen(path) : app.listen(port, '127.0.0.1'))
    const url = path ? undefined : `http://127.0.0.1:${app.getHttpServer().address().port}`
    return { url, trials: () => app.get(TidegateGuard).trials() }
  }

const expressOf = () => new ExpressAdapter()
const fastifyOf = (own) => new FastifyAdapter({ forceCloseConnections: true, ...own })

/** Makes an app of each framework: `await apps.koa3({ limits: '10/minute' }, { route: '1/minute' })`. */
export const apps = {
  express4: expressApp(express4),
  express5: expressApp(express5),
  fastify: fastifyApp,
  koa2: koaApp(Koa2),
  koa3: koaApp(Koa3),
  nestExpress: nestApp(expressOf),
  nestFastify: nestApp(fastifyOf),
  hono: honoApp,
  web: webApp,
}

/** A header of a request, or of the one in a context. */
export const headerOf = (given, name) => {
  const headers = given.headers ?? given.req.raw?.headers
  return headers.get?.(name) ?? headers[name]
}

/** The response to a request, with its body read; `peer` is the address of this machine that it comes from. */
export async function get(url, path = '/', { headers = {}, method = 'GET', peer } = {}) {
  if (peer !== undefined) {
    const request = requestFrom(url + path, { headers, method, localAddress: peer, agent: false }).end()
    const [response] = await once(request, 'response')
    const text = (await response.toArray()).join('')
    return { status: response.statusCode, headers: new Headers(response.headers), text }
  }
  const response = await fetch(url + path, { headers, method, redirect: 'manual' })
  return { status: response.status, headers: response.headers, text: await response.text() }
}

/** The responses to several requests, one after another. */
export async function several(count, ...request) {
  const responses = []
  for (let index = 0; index < count; index++) responses.push(await get(...request))
  return responses
}
