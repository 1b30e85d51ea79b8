import assert from 'node:assert/strict'
import { after, before, it } from 'node:test'
import { askAgainMs, type TestEngine } from '../../test/fakes/engine-front.ts'
import { until } from '../../test/fakes/fake-workers.ts'
import { openEmbeddedEngine } from '../../test/harness/embedded-engine.ts'
import { serviceOfPipes } from '../../test/harness/pipes.ts'
import { onBothDatabases } from '../../test/harness/test-app.ts'
import { startAzureBlobServer } from '../../test/sources/azure-blob-server.ts'
import type { AzureServer } from '../../test/sources/object-server.ts'

const [largeCount, smallCount, firstOfSmall] = [120_000, 10, 1_000_001]

function linesOf(first: number, count: number): Uint8Array {
  const text = 'x'.repeat(200)
  return Buffer.from(Array.from({ length: count }, (_, at) => `{"id":${first + at},"text":"${text}"}\n`).join(''))
}

onBothDatabases(
  'a pipe whose path is changed in the middle of an object',
  (app) => {
    let engine: TestEngine
    let objects: AzureServer
    before(async () => {
      engine = await openEmbeddedEngine()
      objects = await startAzureBlobServer()
      await app().app.listen()
    })
    after(async () => {
      await engine?.close()
      await objects?.stop()
    })

    it('finishes the object, and continues with the new path', async () => {
      await objects.createContainer('files')
      await objects.put('files', 'a/1.json', linesOf(1, largeCount))
      await objects.put('files', 'b/1.json', linesOf(firstOfSmall, smallCount))
      const service = await serviceOfPipes(app())
      const { organizationId, serviceId, admin: key } = service
      const { url, username, password, database } = engine
      const path = `/v1/organizations/${organizationId}/services/${serviceId}`
      await app().request('PATCH', path, { key, body: { endpoint: { url, username, password } } })
      // The change comes between two pieces of the object.
      engine.delayNext({ delayMs: 1_000, times: 4 })
      const { id } = await service.create({
        name: 'files',
        source: {
          objectStorage: {
            type: 'azureblobstorage',
            format: 'JSONEachRow',
            isContinuous: true,
            azureContainerName: 'files',
            path: 'a/*.json',
            connectionString: objects.connectionString,
          },
        },
        destination: {
          database,
          table: 'files',
          columns: [{ name: 'id', type: 'UInt64' }],
          tableDefinition: { engine: { type: 'MergeTree' }, sortingKey: ['id'] },
        },
        settings: { object_storage_polling_interval_ms: 100 },
      })
      const count = async (what = 'count()'): Promise<number> =>
        (await engine.listTables()).includes('files') ? Number(await engine.run(`SELECT ${what} FROM files`)) : 0
      await until(async () => (await count()) > 0, 'the first rows are there', { everyMs: askAgainMs })
      assert.ok((await count()) < largeCount)
      const answer = await service.send('PATCH', `/${id}`, { source: { objectStorage: { path: 'b/*.json' } } })
      assert.equal(answer.status, 200, answer.text)
      await until(async () => (await count('max(id)')) >= firstOfSmall, 'the new path is loaded', {
        everyMs: askAgainMs,
      })
      assert.equal(await count(), largeCount + smallCount)
      assert.equal(await count('uniqExact(id)'), largeCount + smallCount)
      const { state, stateReason } = (await service.send('GET', `/${id}/metrics`)).body.result
      assert.deepEqual([state, stateReason], ['Running', null])
    })
  },
  { role: 'all' },
)
