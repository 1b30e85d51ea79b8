import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { leastPipes, serviceOfPipes } from '../../test/harness/pipes.ts'
import { onBothDatabases } from '../../test/harness/test-app.ts'
import { newId } from '../lib/id.ts'
import { createPipe } from './create-pipe.ts'

onBothDatabases('getPipeMetrics', (app) => {
  /** A pipe of the example, with rows as its runner would write them. */
  async function setUp() {
    const { organizationId, admin, serviceId } = await app().addOrganization()
    const pipes = `/v1/organizations/${organizationId}/services/${serviceId}/pipes`
    const body = { ...(createPipe.example.body as object), startPaused: false }
    const created = await app().request('POST', pipes, { key: admin, body })
    assert.equal(created.status, 200, created.text)
    const pipeId: string = created.body.result.id
    const get = async (key = admin, id = pipeId) => app().request('GET', `${pipes}/${id}/metrics`, { key })
    const addWorker = (slot: number, { doing = '', lag = 'NULL', aliveMs = 15_000 }) =>
      app().query(
        `INSERT INTO pipe_workers (pipe_id, slot, slots, runner_id, epoch, expires_at, doing, lag_records)
         VALUES ('${pipeId}', ${slot}, 3, 'r', 1, '${new Date(Date.now() + aliveMs).toISOString()}', '${doing}', ${lag})`,
      )
    const setState = (state: string, reason = 'NULL') =>
      app().query(`UPDATE pipes SET state = '${state}', state_reason = ${reason} WHERE id = '${pipeId}'`)
    const addMinute = (minutesAgo: number, rows: number) => {
      const minute = new Date(Math.floor(Date.now() / 60_000 - minutesAgo) * 60_000).toISOString()
      return app()
        .query(
          `INSERT INTO pipe_throughput (pipe_id, minute, rows_read, bytes_read, rows_written, rows_refused)
           VALUES ('${pipeId}', '${minute}', ${rows}, ${rows * 10}, ${rows - 1}, 1)`,
        )
        .then(() => minute)
    }
    return { organizationId, admin, serviceId, pipeId, get, addWorker, addMinute, setState }
  }

  describe('200', () => {
    it('of a pipe that has never run has nothing but zeros', async () => {
      const { get } = await setUp()
      const { status, body } = await get()
      assert.equal(status, 200)
      assert.deepEqual(body.result, {
        state: 'Provisioning',
        stateReason: null,
        doing: 'Waiting for a runner to take it.',
        delivery: null,
        deliveryReason: null,
        rowsRead: 0,
        bytesRead: 0,
        rowsWritten: 0,
        bytesWritten: 0,
        rowsRefused: 0,
        inserts: 0,
        retries: 0,
        lag: null,
        retainedBytes: null,
        freshnessSeconds: null,
        lastInsertAt: null,
        lastError: null,
        lastErrorAt: null,
        replayRequestedAt: null,
        workers: [],
        tables: [],
        throughput: [],
      })
    })

    it('has what the runner has counted, beyond 32 bits', async () => {
      const { pipeId, get, setState } = await setUp()
      await setState('Degraded', `'the engine is away'`)
      await app().query(
        `INSERT INTO pipe_figures (pipe_id, rows_read, bytes_read, rows_written, bytes_written, rows_refused, inserts,
           retries, last_insert_at, last_error, last_error_at, delivery, delivery_reason, retained_bytes)
         VALUES ('${pipeId}', 5000000000, 90000000000, 4999999998, 70000000000, 2, 812, 3, '2026-11-02T16:40:07.310Z',
           'the engine is away', '2026-11-02T16:41:00.000Z', 'at_least_once', 'the table keeps no tokens', 6000000000)`,
      )
      const { result } = (await get()).body
      const { workers, throughput, tables, doing, ...counters } = result
      assert.deepEqual(counters, {
        state: 'Degraded',
        stateReason: 'the engine is away',
        delivery: 'at_least_once',
        deliveryReason: 'the table keeps no tokens',
        rowsRead: 5_000_000_000,
        bytesRead: 90_000_000_000,
        rowsWritten: 4_999_999_998,
        bytesWritten: 70_000_000_000,
        rowsRefused: 2,
        inserts: 812,
        retries: 3,
        lag: null,
        retainedBytes: 6_000_000_000,
        freshnessSeconds: null,
        lastInsertAt: '2026-11-02T16:40:07.310Z',
        lastError: 'the engine is away',
        lastErrorAt: '2026-11-02T16:41:00.000Z',
        replayRequestedAt: null,
      })
    })

    it('counts the seconds since the source was delivered as long as the pipe follows it', async () => {
      const { pipeId, get, setState } = await setUp()
      const freshness = async () => (await get()).body.result.freshnessSeconds
      const since = new Date(Date.now() - 90_000).toISOString()
      await app().query(`INSERT INTO pipe_figures (pipe_id, delivered_until) VALUES ('${pipeId}', '${since}')`)
      for (const state of ['Running', 'Degraded', 'Failed', 'Stopped']) {
        await setState(state)
        const seconds = await freshness()
        assert.ok(seconds >= 90 && seconds < 150, `${state}: ${seconds}`)
      }
      await setState('Completed')
      assert.equal(await freshness(), null)
      await setState('Running')
      // The clock of the source is ahead.
      await app().query(
        `UPDATE pipe_figures SET delivered_until = '2999-01-01T00:00:00.000Z' WHERE pipe_id = '${pipeId}'`,
      )
      assert.equal(await freshness(), 0)
    })

    it('has the workers that hold their lease, and adds up the reported lag', async () => {
      const { get, addWorker, setState } = await setUp()
      await setState('Running')
      await addWorker(0, { doing: 'Reading.', lag: '40' })
      assert.equal((await get()).body.result.doing, 'Reading.')
      await addWorker(1, { doing: 'Inserting.', lag: '2' })
      await addWorker(2, { doing: 'Waiting' })
      await addWorker(3, { doing: 'Gone.', lag: '1000', aliveMs: -1 })
      const { doing, lag, workers } = (await get()).body.result
      assert.equal(doing, 'Worker 1: Reading.')
      assert.equal(lag, 42)
      assert.deepEqual(workers, [
        { slot: 0, doing: 'Reading.', lag: 40 },
        { slot: 1, doing: 'Inserting.', lag: 2 },
        { slot: 2, doing: 'Waiting.', lag: null },
      ])
    })

    it('has the minutes of the last hour, the oldest first', async () => {
      const minuteNow = () => Math.floor(Date.now() / 60_000)
      for (;;) {
        const { get, addMinute } = await setUp()
        const begunIn = minuteNow()
        const now = await addMinute(0, 10)
        const before = await addMinute(59, 20)
        await addMinute(61, 30)
        const { throughput } = (await get()).body.result
        // If a minute ended during the test, the one of 59 minutes ago is an hour old.
        if (minuteNow() !== begunIn) continue
        assert.deepEqual(throughput, [
          { minute: before, rowsRead: 20, bytesRead: 200, rowsWritten: 19, rowsRefused: 1 },
          { minute: now, rowsRead: 10, bytesRead: 100, rowsWritten: 9, rowsRefused: 1 },
        ])
        return
      }
    })

    it('describes the activity of a pipe without a worker', async () => {
      const { get, setState, addWorker } = await setUp()
      const shownDoing = async (state: string): Promise<string> => {
        await setState(state)
        return (await get()).body.result.doing
      }
      assert.equal(await shownDoing('Running'), 'Waiting for a runner to take it.')
      assert.equal(await shownDoing('Stopping'), 'Stopping.')
      assert.equal(await shownDoing('Stopped'), 'Stopped.')
      assert.equal(await shownDoing('Completed'), 'Completed: everything was loaded.')
      assert.match(await shownDoing('Failed'), /until it is started again/)
      // A worker whose lease has not expired yet does nothing any more.
      await addWorker(0, { doing: 'Reading.' })
      assert.equal(await shownDoing('Stopped'), 'Stopped.')
      assert.equal(await shownDoing('Stopping'), 'Reading.')
    })

    it('has the tables of a postgres pipe in the order of their mappings, also those not started yet', async () => {
      const service = await serviceOfPipes(app())
      const source = (leastPipes.postgres as { source: { postgres: object } }).source.postgres
      const tableMappings = ['users', 'orders', 'later'].map((name) => ({
        sourceSchemaName: 'public',
        sourceTable: name,
        targetTable: name,
      }))
      const body = { ...leastPipes.postgres, source: { postgres: { ...source, tableMappings } } }
      const { id } = await service.create(body)
      await app().query(`UPDATE pipes SET state = 'Snapshot' WHERE id = '${id}'`)
      const add = (target: string, values: string) =>
        app().query(
          `INSERT INTO pipe_tables (pipe_id, target_table, source_schema, source_table, mapping_digest, load_id, columns,
             replaces, phase, rows_estimated, rows_loaded, range_count, ranges_done, load_started_at)
           VALUES ('${id}', '${target}', 'public', '${target}', 'digest', 'load', '[]', ${values})`,
        )
      const aMinuteAgo = new Date(Date.now() - 60_000).toISOString()
      await add('orders', `NULL, 'snapshot', 5000000000, 1000000000, 50, 10, '${aMinuteAgo}'`)
      await add('users', `NULL, 'following', 10, 11, 1, 1, '${aMinuteAgo}'`)
      await add('users_penstock_resync', `'users', 'snapshot', NULL, 0, NULL, 0, NULL`)
      await add('removed', `NULL, 'following', 10, 11, 1, 1, '${aMinuteAgo}'`)
      const { tables } = (await service.send('GET', `/${id}/metrics`)).body.result
      const secondsLeft: number = tables[2].secondsLeft
      assert.ok(secondsLeft >= 240 && secondsLeft < 360, String(secondsLeft))
      const shown = (table: string, more: object) => ({ sourceSchemaName: 'public', sourceTable: table, ...more })
      assert.deepEqual(tables, [
        shown('users', {
          targetTable: 'users',
          state: 'following',
          isResync: false,
          rowsLoaded: 11,
          rowsEstimated: 10,
          percent: 100,
          secondsLeft: null,
        }),
        shown('users_penstock_resync', {
          targetTable: 'users_penstock_resync',
          state: 'waiting',
          isResync: true,
          rowsLoaded: 0,
          rowsEstimated: null,
          percent: 0,
          secondsLeft: null,
        }),
        shown('orders', {
          targetTable: 'orders',
          state: 'loading',
          isResync: false,
          rowsLoaded: 1_000_000_000,
          rowsEstimated: 5_000_000_000,
          percent: 20,
          secondsLeft,
        }),
        shown('later', {
          targetTable: 'later',
          state: 'waiting',
          isResync: false,
          rowsLoaded: 0,
          rowsEstimated: null,
          percent: 0,
          secondsLeft: null,
        }),
      ])
    })

    it('is for developers too', async () => {
      const { organizationId, get } = await setUp()
      assert.equal((await get(await app().addKey(organizationId, 'developer'))).status, 200)
    })
  })

  it('404 for a pipe that is not there', async () => {
    const { admin, serviceId, get } = await setUp()
    const id = newId()
    const { status, body } = await get(admin, id)
    assert.equal(status, 404)
    assert.equal(body.error, `NOT_FOUND: pipe ${id} was not found in service ${serviceId}`)
  })
})
