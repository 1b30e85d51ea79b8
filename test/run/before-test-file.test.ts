// Tests of the test runner setup: hooks of a suite apply to that suite only, and an error that no test awaits fails the test that
// caused it, although the async hook of the runner is replaced.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'

const testFile = `
  import { executionAsyncId } from 'node:async_hooks'
  import { createServer, connect } from 'node:net'
  import { beforeEach, describe, it } from 'node:test'
  import { setTimeout as sleep } from 'node:timers/promises'

  describe('outer', () => {
    describe('inner', async () => {
      await null
      beforeEach((test) => console.log('prepared: ' + test.name))
      it('of inner', async (test) => {
        await null
        console.log('hooked: ' + (executionAsyncId() !== 0))
        await test.test('below', () => undefined)
      })
    })
    it('throws in a timer', async () => {
      setTimeout(() => { throw new Error('in a timer') }, 1)
      await sleep(60_000, undefined, { ref: false })
    })
    it('rejects what nobody awaits', async () => {
      void Promise.reject(new Error('in a promise'))
      await sleep(60_000, undefined, { ref: false })
    })
    it('throws in a server', async () => {
      const server = createServer((socket) => {
        socket.destroy()
        server.close()
        throw new Error('in a server')
      })
      server.listen(0, '127.0.0.1', () => connect(server.address().port, '127.0.0.1'))
      await sleep(60_000, undefined, { ref: false })
    })
    it('passes after them', () => undefined)
  })
`

describe('the setup of a test file', () => {
  let folder: string
  let report: string
  let code: number | null

  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'penstock-test-file-'))
    const file = join(folder, 'example.mjs')
    writeFileSync(file, testFile)
    const { NODE_TEST_CONTEXT: _context, PENSTOCK_TEST_WATCHED: _watched, ...env } = process.env
    const beforeTestFile = new URL('before-test-file.ts', import.meta.url).href
    const flags = ['--test', '--test-reporter=tap', `--import=${beforeTestFile}`]
    const run = spawnSync(process.execPath, [...flags, file], { env, encoding: 'utf8', timeout: 60_000 })
    report = run.stdout
    code = run.status
  })
  after(() => rmSync(folder, { recursive: true }))

  it('reports each test in its suite', () => {
    const lines = report.match(/^ *(?:not )?ok \d+ - .*$/gm)
    assert.deepEqual(lines, [
      '            ok 1 - below',
      '        ok 1 - of inner',
      '    ok 1 - inner',
      '    not ok 2 - throws in a timer',
      '    not ok 3 - rejects what nobody awaits',
      '    not ok 4 - throws in a server',
      '    ok 5 - passes after them',
      'not ok 1 - outer',
    ])
  })

  it('limits the hooks of a suite to that suite', () => {
    assert.deepEqual(report.match(/prepared: .*/g), ['prepared: of inner', 'prepared: below'])
  })

  it('fails a test with the error that it did not await', () => {
    assert.equal(code, 1)
    for (const where of ['timer', 'promise', 'server']) assert.match(report, new RegExp(`error: 'in a ${where}'`))
  })

  it('runs without an async hook per promise', () => {
    assert.match(report, /hooked: false/)
  })
})
