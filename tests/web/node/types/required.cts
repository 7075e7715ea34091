/** The same types through `require`; the compiler checks it, nobody runs it. */

import express = require('express')
import Fastify = require('fastify')
import forExpress = require('tidegate/express')
import tidegate = require('tidegate/fastify')
import forHono = require('tidegate/hono')
import forKoa = require('tidegate/koa')
import forNest = require('tidegate/nestjs')
import forThrottler = require('tidegate/stores/nestjs-throttler')
import forFlexible = require('tidegate/stores/rate-limiter-flexible')
import forWeb = require('tidegate/web')

express().use(forExpress.rateLimit({ limits: '5/minute' }))
const options: tidegate.RateLimitOptions = { limits: '5/minute' }
Fastify.fastify().register(tidegate, options)
console.log(forHono.rateLimit, forKoa.rateLimit, forWeb.rateLimit, tidegate.RateLimitError)
forNest.TidegateModule.forRoot({ limits: '5/minute' })
console.log(new forThrottler.Store().prefix, new forFlexible.Store({ points: 5, duration: 60 }).keyPrefix)
