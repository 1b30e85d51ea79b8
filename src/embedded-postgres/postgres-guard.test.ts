// Cleanup of a PostgreSQL server after its parent process was killed.
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { spawnGuard } from './postgres-server.ts'

describe('the guard of a PostgreSQL server', { timeout: 60_000 }, () => {
  let directory: string
  let started: ChildProcess[]
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'penstock-guard-'))
    mkdirSync(join(directory, 'data'))
    started = []
  })
  afterEach(() => {
    for (const child of started) child.kill('SIGKILL')
    rmSync(directory, { recursive: true, force: true })
  })

  /** Simulates a postmaster, which has the folder in its arguments. */
  async function start(...given: string[]): Promise<ChildProcess> {
    const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)', '--', ...given], { stdio: 'ignore' })
    started.push(child)
    await once(child, 'spawn')
    return child
  }
  const postmaster = () => start('-D', join(directory, 'data'), '-p', '5432')
  const writePid = ({ pid }: ChildProcess) => writeFileSync(join(directory, 'data/postmaster.pid'), `${pid}\n`)
  const guard = ({ isKept = true } = {}) => {
    const child = spawnGuard(directory, {}, { env: { PATH: '/usr/bin:/bin' }, isKept })
    started.push(child)
    return child
  }

  it('ends the server', async () => {
    const server = await postmaster()
    writePid(server)
    guard().stdin!.end()
    const [, signal] = await once(server, 'exit')
    assert.equal(signal, 'SIGQUIT')
  })

  it('finds a server that is starting and has not written its process id yet', async () => {
    guard().stdin!.end()
    await sleep(700)
    const [, signal] = await once(await postmaster(), 'exit')
    assert.equal(signal, 'SIGQUIT')
  })

  it('finds a server whose folder was deleted', async () => {
    const server = await postmaster()
    writePid(server)
    rmSync(directory, { recursive: true })
    guard().stdin!.end()
    const [, signal] = await once(server, 'exit')
    assert.equal(signal, 'SIGQUIT')
  })

  it('does not kill another process with the process id of an earlier server', async () => {
    const other = await start('-D', join(tmpdir(), 'another'), '-p', '5432')
    writePid(other)
    const child = guard()
    child.stdin!.end()
    await once(child, 'exit')
    assert.equal(other.exitCode ?? other.signalCode, null)
  })

  it('kills a server that does not end, and removes a directory that is not kept, within 5 s', async () => {
    const server = spawn('/bin/sh', [
      '-c',
      'trap "" QUIT; while :; do sleep 0.1; done',
      'sh',
      `${directory}/data`,
      '-p',
    ])
    started.push(server)
    writePid(server)
    // Waits until the trap is set.
    await sleep(300)
    const child = guard({ isKept: false })
    const beginMs = performance.now()
    child.stdin!.end()
    const [, signal] = await once(server, 'exit')
    assert.equal(signal, 'SIGKILL')
    await once(child, 'exit')
    assert.ok(!existsSync(directory))
    assert.ok(performance.now() - beginMs < 10_000)
  })
})
