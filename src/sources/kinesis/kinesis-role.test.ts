// A stream that is read with the temporary credentials of a role.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { loopbackEgress } from '../../../test/sources/conformance.ts'
import { jsonRecords } from '../../../test/sources/kinesis-conformance.ts'
import { startFanOut } from '../../../test/sources/kinesis-fan-out.ts'
import { startKinesis } from '../../../test/sources/kinesis-server.ts'
import { kinesisConfig } from '../../../test/sources/kinesis-source-at.ts'
import { withOperator } from '../../../test/sources/operator.ts'
import type { CheckedKey } from '../../../test/sources/signature-check.ts'
import { openKinesisReader } from './kinesis-reader.ts'

/** Credentials are renewed this long before they expire. */
const earlyMs = 5 * 60_000

for (const useEnhancedFanOut of [false, true]) {
  describe(`the credentials of a role, ${useEnhancedFanOut ? 'with enhanced fan-out' : 'by polling'}`, () => {
    it('are renewed before they expire, while a reader is open', async () => {
      const keys: CheckedKey[] = []
      const backend = await startKinesis({ keys, roleLifetimeMs: earlyMs + 1_500 })
      const server = await startFanOut(backend, { keys })
      const { role } = backend
      assert.ok(role)
      await backend.createStream('clicks', 2)
      server.behavior.endsAfterMs = 100
      const { roleArn: iamRole, organizationId, stsEndpoint: sts, operator } = role
      const config = { ...kinesisConfig, authentication: 'IAM_ROLE' as const, iamRole, useEnhancedFanOut }
      const context = {
        organizationId,
        pipeId: 'a-pipe',
        caCertificates: undefined,
        allowPlaintext: false,
        awsEndpoints: { kinesis: server.endpoint, sts },
      }
      const signal = AbortSignal.timeout(20_000)
      await withOperator(operator, async () => {
        const connectOptions = { egress: loopbackEgress, signal }
        const limits = { fanOutLimits: { betweenMs: 20 } }
        const reader = await openKinesisReader(config, {}, context, {}, connectOptions, limits)
        let count = 0
        let written = 0
        const issuedKeys = (): CheckedKey[] => keys.filter(({ sessionToken }) => sessionToken)
        // The first credentials expire as soon as they should have been renewed: using them longer fails.
        while (issuedKeys().length < 3 || count < written) {
          for (const key of issuedKeys()) {
            const leftMs = (key.expiresAt?.getTime() ?? 0) - Date.now()
            if (leftMs < earlyMs - 1_000) key.expiresAt = new Date(0)
          }
          if (issuedKeys().length < 3) {
            await backend.put('clicks', jsonRecords(5, written))
            written += 5
          }
          const batches = await reader.read({ maxRecords: 100, maxBytes: 100_000, waitMs: 100, signal })
          count += batches.reduce((sum, { records = [] }) => sum + records.length, 0)
        }
        await reader.close()
        assert.equal(count, written)
        const used = new Set(server.requests.map(({ accessKeyId }) => accessKeyId))
        assert.ok(used.size >= 2, `${used.size} keys were used`)
        if (useEnhancedFanOut) {
          const subscribed = server.requests.filter(({ operation }) => operation === 'SubscribeToShard')
          assert.ok(new Set(subscribed.map(({ accessKeyId }) => accessKeyId)).size >= 2)
        }
      })
      await server.stop()
      await backend.stop()
    })
  })
}
