// The try-it mode with an engine of the user that cannot be reached at first.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, it } from 'node:test'
import { end, start } from './cli-processes.ts'

it('says that the engine cannot be reached, at every start with it, and that it answers again', async () => {
  const data = mkdtempSync(join(tmpdir(), 'penstock-unreachable-'))
  after(() => rmSync(data, { recursive: true, force: true }))
  const other = createServer((_request, response) => response.end('1\n')).listen(0, '127.0.0.1')
  await once(other, 'listening')
  const { port } = other.address() as { port: number }
  const settings = { PENSTOCK_DATA: data, PENSTOCK_TRY_ENGINE: `http://ada:hush@127.0.0.1:${port}` }
  other.close()
  other.closeAllConnections()
  for (const isFirst of [true, false]) {
    const { child, printed } = await start('try', settings)
    let all = printed
    child.stdout!.on('data', (chunk) => {
      all += chunk
    })
    const says = async (what: RegExp) => {
      while (!what.test(all) && child.exitCode === null) await new Promise((resolve) => setTimeout(resolve, 20))
      assert.match(all, what)
    }
    await says(
      new RegExp(`^The ClickHouse at http://127\\.0\\.0\\.1:${port} does not answer \\(ECONNREFUSED\\), `, 'm'),
    )
    assert.doesNotMatch(all, /is ignored|hush/)
    if (isFirst) {
      other.listen(port, '127.0.0.1')
      await says(/ answers now\.$/m)
      other.close()
      other.closeAllConnections()
    }
    assert.equal(await end(child), 0)
  }
})
