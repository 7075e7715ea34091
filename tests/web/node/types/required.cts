/** The same types through `require`; the compiler checks it, nobody runs it. */

import express = require('express')
import Fastify = require('fastify')
import forExpress = require('tidegate/express')
import tidegate = require('tidegate/fastify')
import forHono = require('tidegate/hono')
import forKoa = require('tidegate/koa')
import forWeb = require('tidegate/web')

express().use(forExpress.rateLimit({ limits: '5/minute' }))
const options: tidegate.RateLimitOptions = { limits: '5/minute' }
Fastify.fastify().register(tidegate, options)
console.log(forHono.rateLimit, forKoa.rateLimit, forWeb.rateLimit, tidegate.RateLimitError)
