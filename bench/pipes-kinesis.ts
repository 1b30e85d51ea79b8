// kinesalite in a separate process on the given port, with the response size limits of Kinesis.
import type { Server } from 'node:http'
import { createRequire } from 'node:module'

type Action = (store: unknown, input: { Limit?: number }, done: unknown) => void

const [port, mostRecordsOfAnswer] = process.argv.slice(2).map(Number)
const require = createRequire(import.meta.url)
const path = require.resolve('kinesalite/actions/getRecords')
const getRecords = require(path) as Action
const limited: Action = (store, input, done) =>
  getRecords(store, { ...input, Limit: Math.min(input.Limit ?? Number.POSITIVE_INFINITY, mostRecordsOfAnswer!) }, done)
require.cache[path]!.exports = limited
const kinesalite = require('kinesalite') as (options: object) => Server
kinesalite({ createStreamMs: 0 }).listen(port, '127.0.0.1')
