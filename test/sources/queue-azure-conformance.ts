// Conformance suite for Azure queues, in addition to that of all queues.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { ObjectStorageSource } from '../../src/source-shapes/object-storage-source.ts'
import { makeObjectStorageSource } from '../../src/sources/object-storage/object-storage.ts'
import { loopbackEgress, probeFails } from './conformance.ts'
import { line } from './object-storage-common.ts'
import { plainContext } from './object-storage-conformance.ts'
import { readOnce } from './queue-common.ts'
import { queueConformance } from './queue-conformance.ts'
import { blobEvent } from './queue-server.ts'
import { type AzureQueueServer, azureQueueWorld } from './queue-worlds.ts'

export function azureQueueConformance(start: () => Promise<AzureQueueServer>): void {
  queueConformance(async () => azureQueueWorld(await start()))

  describe('an Azure queue', () => {
    let server: AzureQueueServer
    before(async () => {
      server = await start()
      await server.createContainer('objects')
      await server.put('objects', 'a', line(1))
    })
    after(() => server.stop())

    const sourceOf = (connectionString: string, queueUrl: string, more: Partial<ObjectStorageSource> = {}) =>
      makeObjectStorageSource(
        {
          type: 'azureblobstorage',
          format: 'JSONEachRow',
          compression: 'auto',
          isContinuous: true,
          skipInitialLoad: true,
          authentication: 'CONNECTION_STRING',
          azureContainerName: 'objects',
          path: '*',
          queueUrl,
          ...more,
        },
        { connectionString },
        plainContext,
      )

    it('reports a wrong key', async () => {
      const queueUrl = await server.createQueue('keys')
      const wrongKey = Buffer.alloc(64, 7).toString('base64')
      const source = sourceOf(server.connectionString.replace(/AccountKey=[^;]+/, `AccountKey=${wrongKey}`), queueUrl)
      const refused = { name: 'ProbeFailure', code: 'credentials_refused', field: 'connectionString' }
      await assert.rejects(readOnce(source), refused)
    })

    it('is rejected for a source without credentials', async () => {
      const config = {
        type: 'azureblobstorage',
        format: 'JSONEachRow',
        compression: 'auto',
        isContinuous: true,
        azureContainerName: 'objects',
        path: '*',
        queueUrl: await server.createQueue('open'),
      } as const
      const source = makeObjectStorageSource(config, { connectionString: server.connectionString }, plainContext)
      const connectOptions = { egress: loopbackEgress, signal: AbortSignal.timeout(5_000) }
      await assert.rejects(source.open({}, connectOptions), { code: 'not_set_up', field: 'authentication' })
    })

    it('is read with a shared access signature, and reports missing permissions', async (test) => {
      if (!server.signed) return test.skip('the server knows no such signatures')
      const queueUrl = await server.createQueue('signed')
      await server.send(queueUrl, blobEvent('objects', 'a'))
      const endpoint = /BlobEndpoint=([^;]+)/.exec(server.connectionString)![1]!
      const withSignature = (signature: string) =>
        sourceOf(`BlobEndpoint=${endpoint};SharedAccessSignature=${signature}`, queueUrl)
      const [all, lookers] = [await server.signed('rlup'), await server.signed('rl')]
      const secrets = [all, lookers].map((signature) => /sig=([^&]+)/.exec(signature)![1]!)
      const signal = AbortSignal.timeout(10_000)
      const limits = { maxRecords: 1, maxBytes: 1, waitMs: 0, signal }
      const looking = await withSignature(lookers).open({}, { egress: loopbackEgress, signal })
      const missing = { code: 'permission_missing', field: 'connectionString', reason: /take messages of the queue/ }
      await assert.rejects(looking.read(limits), missing)
      await looking.close()
      const reader = await withSignature(all).open({}, { egress: loopbackEgress, signal })
      const [batch] = await reader.read(limits)
      assert.equal(batch?.object?.key, 'a')
      await reader.acknowledge({ [batch.partition]: 'finished' })
      assert.deepEqual(await server.attributes(queueUrl), { waiting: 0, held: 0 })
      await reader.close()
      const ended = await server.signed('rlup', -60_000)
      const refused = { step: 'authenticate', code: 'credentials_refused' } as const
      await probeFails(withSignature(ended), refused, { secrets })
    })
  })
}
