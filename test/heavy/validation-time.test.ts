// A request has ten seconds for its calls to a source, whatever the source does.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { it } from 'node:test'
import { openTestApp } from '../harness/test-app.ts'

it('validateSamples gives up on a silent source after ten seconds, and changes nothing', async () => {
  const accepted: Socket[] = []
  const silent = createServer((socket) => {
    accepted.push(socket)
    socket.on('error', () => undefined)
  }).listen(0, '127.0.0.1')
  await once(silent, 'listening')
  const app = await openTestApp('sqlite')
  try {
    const { organizationId, serviceId, pipeIds } = app.sample
    const path = `/v1/organizations/${organizationId}/services/${serviceId}/pipes/${pipeIds.postgres}`
    const before = (await app.request('GET', path)).body.result
    const { port } = silent.address() as AddressInfo
    const startedAt = performance.now()
    const { status, body } = await app.request('PATCH', path, {
      body: { source: { validateSamples: true, postgres: { host: '127.0.0.1', port } } },
    })
    const tookMs = performance.now() - startedAt
    assert.equal(status, 400, body.error)
    assert.ok(accepted.length > 0)
    assert.match(body.error, /did not answer within \d+ s|in time/)
    assert.ok(tookMs > 5_000 && tookMs < 12_000, `${tookMs.toFixed(0)} ms`)
    assert.deepEqual((await app.request('GET', path)).body.result, before)
  } finally {
    for (const socket of accepted) socket.destroy()
    silent.close()
    await app.close()
  }
})
