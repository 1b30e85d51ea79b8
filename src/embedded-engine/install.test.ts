import assert from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync } from 'node:fs'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { installLibrary } from './install.ts'

describe('installLibrary', () => {
  let registry: Server
  let sockets: Socket[]
  let folder: string
  let cacheFolder: string
  const settingsOfNpm = ['npm_config_registry', 'npm_config_cache']
  const before = Object.fromEntries(settingsOfNpm.map((name) => [name, process.env[name]]))
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'penstock-install-'))
    cacheFolder = join(folder, 'cache')
    sockets = []
    // Accepts connections and never answers.
    registry = createServer((socket) => sockets.push(socket.on('error', () => undefined))).listen(0, '127.0.0.1')
    await once(registry, 'listening')
    process.env.npm_config_registry = `http://127.0.0.1:${(registry.address() as AddressInfo).port}/`
    process.env.npm_config_cache = join(folder, 'npm')
  })
  afterEach(() => {
    for (const [name, value] of Object.entries(before)) {
      if (value === undefined) delete process.env[name]
      else process.env[name] = value
    }
    for (const socket of sockets) socket.destroy()
    registry.close()
    rmSync(folder, { recursive: true, force: true, maxRetries: 10 })
  })

  /** Processes that use the npm cache of this test. */
  const npms = (): string[] =>
    readdirSync('/proc').filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/environ`, 'utf8').includes(`npm_config_cache=${join(folder, 'npm')}`)
      } catch {
        return false
      }
    })

  it('ends npm and removes what it has fetched when it is stopped', async () => {
    const stop = new AbortController()
    const installed = installLibrary('wasm', { cacheFolder, out: new PassThrough(), stopping: stop.signal })
    while (sockets.length === 0) await sleep(20)
    assert.notDeepEqual(npms(), [])
    assert.equal(readdirSync(cacheFolder).length, 1)
    stop.abort()
    await assert.rejects(installed, { name: 'AbortError' })
    assert.deepEqual(npms(), [])
    assert.deepEqual(readdirSync(cacheFolder), [])
  })

  it('starts nothing when it is already stopped', async () => {
    const stopping = AbortSignal.abort()
    await assert.rejects(installLibrary('wasm', { cacheFolder, out: new PassThrough(), stopping }), {
      name: 'AbortError',
    })
    assert.deepEqual(readdirSync(cacheFolder), [])
  })

  it('removes downloads of processes that were killed, and no others', async () => {
    const mine = join(cacheFolder, `fetching-${process.pid}-aaaaaa`)
    const dead = join(cacheFolder, 'fetching-999999999-aaaaaa')
    const [old, young] = [join(cacheFolder, 'fetching-native-aaaaaa'), join(cacheFolder, 'fetching-native-bbbbbb')]
    const engine = join(cacheFolder, 'engine-native-0123456789ab')
    for (const made of [mine, dead, old, young, engine]) mkdirSync(join(made, 'node_modules'), { recursive: true })
    utimesSync(old, new Date(0), new Date(0))
    const stopping = AbortSignal.abort()
    await assert.rejects(installLibrary('wasm', { cacheFolder, out: new PassThrough(), stopping }))
    assert.deepEqual([mine, dead, old, young, engine].map(existsSync), [true, false, false, true, true])
  })
})
