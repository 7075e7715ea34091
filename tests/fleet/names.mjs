// Charges one unit to each of the actors that the file lists; prints what is left to each.

import { readFileSync } from 'node:fs'
import { bucket, Limiter } from 'tidegate'

const [url, file] = process.argv.slice(2)
const limiter = new Limiter(url, { timeoutMs: 10_000, onError: 'raise' })
const shared = bucket({ key: 'names', size: 10, dripRate: 3_600_000 })
const actors = JSON.parse(readFileSync(file, 'utf8'))
const infos = await Promise.all(actors.map((actor) => limiter.limit(shared, actor)))
console.log(JSON.stringify(infos.map((info) => info.remaining)))
