/** Tests of @fastify/rate-limit that do not apply to a store of somebody else, with their reasons. */

const GROWS = 'windows that grow are refused: exponentialBackoff'

/** Whole files. */
exports.files = {
  'exponential-backoff.test.js': GROWS,
  'local-store-close.test.js': "of the plugin's own store in memory: its bounded cache",
  'redis-rate-limit.test.js': "of the plugin's own store over Redis: its client and its script",
}

/** Tests of a file by their names. */
exports.skipped = {
  'create-rate-limit.test.js': {
    'With { increment: false } and exponentialBackoff the peek reports the base window without escalating it': GROWS,
  },
}
