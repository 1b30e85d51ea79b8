import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { kinds, leastPipes, pointersOf, serviceOfPipes } from '../../test/harness/pipes.ts'
import { onBothDatabases } from '../../test/harness/test-app.ts'
import { newId } from '../lib/id.ts'
import type { SourceKindName } from '../source-shapes/source-kind.ts'
import type { StoredPipe } from './pipe.ts'
import { insertPipe } from './store.ts'

type State = StoredPipe['state']
/** The state after the command, or the error. */
type Outcome = State | RegExp

const runs = /^pipe is already running$/
const stops = /^pipe is still stopping; start it when its state is (Stopped|Paused)$/
const startFirst = /^pipe cannot be resynced while its state is \w+; start it first$/
const notResync = /^a \w+ pipe cannot be resynced; only postgres pipes can$/

// Written out here, not imported from the table under test.
const others: [State, start: Outcome, stop: Outcome, resync: Outcome][] = [
  ['Provisioning', runs, 'Stopped', notResync],
  ['Running', runs, 'Stopping', notResync],
  ['Degraded', runs, 'Stopping', notResync],
  ['Stopping', stops, 'Stopping', notResync],
  ['Stopped', 'Provisioning', 'Stopped', notResync],
  ['Completed', 'Provisioning', 'Completed', notResync],
  ['Failed', 'Provisioning', 'Stopped', notResync],
  ['InternalError', 'Provisioning', 'Stopped', notResync],
]
const postgres: typeof others = [
  ['Provisioning', runs, 'Paused', 'Provisioning'],
  ['Setup', runs, 'Pausing', 'Setup'],
  ['Snapshot', runs, 'Pausing', 'Snapshot'],
  ['Resync', runs, 'Pausing', 'Resync'],
  ['Running', runs, 'Pausing', 'Resync'],
  ['Modifying', runs, 'Pausing', 'Resync'],
  ['Degraded', runs, 'Pausing', 'Resync'],
  ['Pausing', stops, 'Pausing', startFirst],
  ['Paused', 'Provisioning', 'Paused', startFirst],
  ['Completed', 'Provisioning', 'Completed', startFirst],
  ['Failed', 'Provisioning', 'Paused', startFirst],
  ['InternalError', 'Provisioning', 'Paused', startFirst],
]

onBothDatabases('updatePipeState', (app) => {
  /** A pipe in a state that only a runner can set. */
  async function setUp(kind: SourceKindName, state?: State) {
    const service = await serviceOfPipes(app())
    const created = await service.create(leastPipes[kind])
    let { id } = created
    if (state) {
      const stored = await service.load(id)
      id = newId()
      await insertPipe(app().sql, { ...stored, id, state })
    }
    const command = (name: unknown, headers: Record<string, string> = {}) =>
      service.send('PATCH', `/${id}/state`, { command: name }, { headers })
    const read = () => service.send('GET', `/${id}`)
    return { service, id, command, read }
  }

  for (const kind of kinds) {
    for (const [state, ...outcomes] of kind === 'postgres' ? postgres : others) {
      it(`obeys or refuses the commands to a ${kind} pipe that is ${state}`, async () => {
        for (const [index, name] of ['start', 'stop', 'resync'].entries()) {
          const expected = outcomes[index]!
          const { service, id, command, read } = await setUp(kind, state)
          const before = await read()
          const answer = await command(name)
          const after = await read()
          const changes = (await service.activities()).filter(({ target }) => target.id === id)
          if (expected instanceof RegExp) {
            assert.equal(answer.status, 400)
            assert.match(answer.body.detail, expected)
            assert.equal(answer.body.code, name === 'start' ? 'pipe_already_running' : 'pipe_cannot_resync')
          } else {
            assert.equal(answer.status, 200, answer.text)
            assert.equal(answer.body.result.state, expected)
            assert.deepEqual(after.body.result, answer.body.result)
          }
          if (expected instanceof RegExp || expected === state) {
            assert.deepEqual(after.body.result, before.body.result)
            assert.equal(after.headers.etag, before.headers.etag)
            assert.deepEqual(changes, [])
          } else {
            const { updatedAt } = after.body.result
            assert.deepEqual(after.body.result, { ...before.body.result, state: expected, updatedAt })
            assert.notEqual(after.headers.etag, before.headers.etag)
            assert.equal(after.headers.etag, answer.headers.etag)
            assert.deepEqual(changes, [
              {
                type: 'pipe_state_changed',
                request_id: answer.body.requestId,
                target: { type: 'pipe', id, serviceId: service.serviceId },
                changes: [{ field: 'state', from: state, to: expected }],
              },
            ])
          }
        }
      })
    }

    it(`starts and stops a new ${kind} pipe as often as one likes`, async () => {
      const atRest = kind === 'postgres' ? 'Paused' : 'Stopped'
      const { command, read } = await setUp(kind)
      const states: string[] = []
      for (const name of ['stop', 'stop', 'start', 'stop', 'stop']) {
        const answer = await command(name)
        assert.equal(answer.status, 200)
        states.push(answer.body.result.state)
      }
      assert.deepEqual(states, [atRest, atRest, 'Provisioning', atRest, atRest])
      assert.equal((await read()).body.result.state, atRest)
    })
  }

  for (const [kind, state] of [
    ['kafka', 'Stopping'],
    ['postgres', 'Pausing'],
  ] as const) {
    it(`does not show a provisioning ${kind} pipe as stopped while it has workers`, async () => {
      const { id, command } = await setUp(kind)
      const work = (expiresAt: string) =>
        app().query(
          `INSERT INTO pipe_workers (pipe_id, slot, slots, runner_id, epoch, expires_at, state)
           VALUES ('${id}', 0, 1, 'runner', 1, '${expiresAt}', 'running')`,
        )
      await work('2999-01-01T00:00:00.000Z')
      assert.equal((await command('stop')).body.result.state, state)
      await app().query(`UPDATE pipes SET state = 'Provisioning' WHERE id = '${id}'`)
      await app().query(`DELETE FROM pipe_workers WHERE pipe_id = '${id}'`)
      await work('2001-01-01T00:00:00.000Z')
      assert.equal((await command('stop')).body.result.state, kind === 'kafka' ? 'Stopped' : 'Paused')
    })
  }

  it('moves updatedAt with a command, and not back', async () => {
    const { service, id, command } = await setUp('kafka')
    const { createdAt } = await service.load(id)
    const later = '2999-01-01T00:00:00.000Z'
    assert.ok((await command('stop')).body.result.updatedAt >= createdAt)
    await app().query(`UPDATE pipes SET updated_at = '${later}' WHERE id = '${id}'`)
    assert.equal((await command('start')).body.result.updatedAt, later)
  })

  it('lets one of many starts through', async () => {
    const { service, id, command } = await setUp('kafka', 'Stopped')
    const answers = await Promise.all(Array.from({ length: 8 }, () => command('start')))
    const accepted = answers.filter(({ status }) => status === 200)
    assert.equal(accepted.length, 1)
    assert.equal(answers.filter(({ body }) => body.code === 'pipe_already_running').length, 7)
    assert.equal((await service.activities()).filter(({ target }) => target.id === id).length, 1)
  })

  it('400 names an unknown command, a missing one and anything else', async () => {
    const { service, id, command } = await setUp('kafka')
    for (const name of ['restart', 'START', '', null, 5, ['stop']]) {
      const answer = await command(name)
      assert.equal(answer.status, 400)
      assert.deepEqual(pointersOf(answer), ['#/command'])
      assert.match(answer.body.detail, /must be one of start, stop, resync/)
    }
    for (const [body, pointer] of [
      [{}, '#/command'],
      [{ command: 'stop', force: true }, '#/force'],
      [{ command: 'stop', state: 'Stopped' }, '#/state'],
    ] as const) {
      assert.deepEqual(pointersOf(await service.send('PATCH', `/${id}/state`, body)), [pointer])
    }
    assert.equal((await service.load(id)).state, 'Provisioning')
  })

  describe('404 and 412', () => {
    it('names the pipe and its service', async () => {
      const { service } = await setUp('kafka')
      const pipeId = app().sample.pipeIds.kafka
      const answer = await service.send('PATCH', `/${pipeId}/state`, { command: 'start' })
      assert.equal(answer.status, 404)
      assert.equal(answer.body.detail, `pipe ${pipeId} was not found in service ${service.serviceId}`)
    })

    it('does not obey for a pipe that has changed since it was read', async () => {
      const { service, id, command, read } = await setUp('kafka')
      const etag = String((await read()).headers.etag)
      await service.send('PATCH', `/${id}`, { name: 'renamed' })
      assert.equal((await command('stop', { 'if-match': etag })).status, 412)
      assert.equal((await read()).body.result.state, 'Provisioning')
    })
  })
})
