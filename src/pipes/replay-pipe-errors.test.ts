import assert from 'node:assert/strict'
import { it } from 'node:test'
import { onBothDatabases } from '../../test/harness/test-app.ts'
import { createPipe } from './create-pipe.ts'

onBothDatabases('replayPipeErrors', (app) => {
  async function setUp() {
    const { organizationId, admin, serviceId } = await app().addOrganization()
    const pipes = `/v1/organizations/${organizationId}/services/${serviceId}/pipes`
    const body = { ...(createPipe.example.body as object), startPaused: false }
    const created = await app().request('POST', pipes, { key: admin, body })
    const pipeId: string = created.body.result.id
    const replay = (headers = {}) => app().request('POST', `${pipes}/${pipeId}/errorReplay`, { key: admin, headers })
    const activities = async () => {
      const path = `/v1/organizations/${organizationId}/activities?type=pipe_errors_replayed`
      return (await app().request('GET', path, { key: admin })).body.result
    }
    const pipe = async () => (await app().request('GET', `${pipes}/${pipeId}`, { key: admin })).body.result
    return { organizationId, serviceId, pipeId, replay, activities, pipe }
  }

  it('200: stores the request, is recorded, and is no change of the pipe', async () => {
    const { serviceId, pipeId, replay, activities, pipe } = await setUp()
    const before = await pipe()
    const { status, body } = await replay()
    assert.equal(status, 200)
    const { replayRequestedAt, state } = body.result
    assert.equal(state, 'Provisioning')
    assert.ok(Math.abs(Date.parse(replayRequestedAt) - Date.now()) < 60_000)
    const [activity, ...others] = await activities()
    assert.deepEqual(others, [])
    assert.deepEqual(activity.target, { type: 'pipe', id: pipeId, serviceId })
    assert.deepEqual(activity.changes, [{ field: 'replayRequestedAt', to: replayRequestedAt }])
    assert.deepEqual(await pipe(), before)
  })

  it('200: asked again while it waits, changes and records nothing', async () => {
    const { replay, activities } = await setUp()
    const first = await replay()
    const second = await replay()
    assert.equal(second.status, 200)
    assert.equal(second.body.result.replayRequestedAt, first.body.result.replayRequestedAt)
    assert.equal((await activities()).length, 1)
  })

  it('200: accepts a new request after the runner has done the first', async () => {
    const { pipeId, replay, activities } = await setUp()
    await replay()
    await app().query(`UPDATE pipes SET replay_requested_at = NULL WHERE id = '${pipeId}'`)
    assert.notEqual((await replay()).body.result.replayRequestedAt, null)
    assert.equal((await activities()).length, 2)
  })

  it('200: waits in a pipe that is stopped', async () => {
    const { pipeId, replay } = await setUp()
    await app().query(`UPDATE pipes SET state = 'Stopped' WHERE id = '${pipeId}'`)
    const { status, body } = await replay()
    assert.equal(status, 200)
    assert.equal(body.result.state, 'Stopped')
    assert.notEqual(body.result.replayRequestedAt, null)
  })
})
