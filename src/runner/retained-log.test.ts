import assert from 'node:assert/strict'
import { it } from 'node:test'
import { until } from '../../test/fakes/fake-workers.ts'
import { leastPipes, type ServiceOfPipes, serviceOfPipes, withField } from '../../test/harness/pipes.ts'
import { onBothDatabases } from '../../test/harness/test-app.ts'
import { Log } from '../lib/log.ts'
import { makeRetainedLogTask, type RetainedLogParts } from './retained-log.ts'

const gigabyte = 1_000_000_000

onBothDatabases(
  'log that sources keep for pipes at rest',
  (app) => {
    async function makePipe(service: ServiceOfPipes, state: string, { body = leastPipes.postgres, epoch = 1 } = {}) {
      const { id } = await service.create(body)
      await app().query(`UPDATE pipes SET state = '${state}', epoch = ${epoch} WHERE id = '${id}'`)
      return id
    }

    function makePeriodicTask(ask: RetainedLogParts['ask'], warningBytes = 10 * gigabyte) {
      const logged: Record<string, string>[] = []
      const write = (line: string) => void logged.push(JSON.parse(line))
      const log = new Log('info', { write } as unknown as NodeJS.WritableStream)
      const { database } = app().app
      return { logged, task: makeRetainedLogTask({ database, ask, warningBytes, log, times: { lookEveryMs: 0 } }) }
    }

    const metricsOf = async (service: ServiceOfPipes, id: string) =>
      (await service.send('GET', `/${id}/metrics`)).body.result

    it('is measured for pipes that have run CDC, and for no others', async () => {
      const service = await serviceOfPipes(app())
      const once = withField(leastPipes.postgres, 'source.postgres.settings', { replicationMode: 'snapshot' })
      const asked = [
        await makePipe(service, 'Paused'),
        await makePipe(service, 'Failed'),
        await makePipe(service, 'InternalError'),
      ]
      const others = [
        await makePipe(service, 'Running'),
        await makePipe(service, 'Paused', { epoch: 0 }),
        await makePipe(service, 'Paused', { body: once }),
        await makePipe(service, 'Failed', { body: leastPipes.kafka }),
      ]
      const seen: string[] = []
      const { task } = makePeriodicTask(async ({ pipeId }) => {
        seen.push(pipeId)
        return { retainedBytes: 5, safeBytes: undefined }
      })
      task.consider({ isFirst: false })
      assert.deepEqual(seen, [])
      task.consider({ isFirst: true })
      for (const id of asked) {
        await until(async () => (await metricsOf(service, id)).retainedBytes === 5, 'it is kept')
      }
      await task.close()
      assert.deepEqual(seen.filter((id) => [...asked, ...others].includes(id)).toSorted(), asked.toSorted())
      assert.equal((await metricsOf(service, others[1]!)).retainedBytes, null)
    })

    it('is reported above a limit in the state and in the log, until there is less or the pipe is started', async () => {
      const service = await serviceOfPipes(app())
      const id = await makePipe(service, 'Paused')
      let retainedBytes = 12.43 * gigabyte
      const { task, logged } = makePeriodicTask(async ({ pipeId }) =>
        pipeId === id ? { retainedBytes, safeBytes: 7 } : undefined,
      )
      const { version, updatedAt } = await service.load(id)
      const look = async () => {
        await until(async () => {
          task.consider({ isFirst: true })
          return (await metricsOf(service, id)).retainedBytes === retainedBytes
        }, 'it is seen')
        return (await metricsOf(service, id)).stateReason
      }
      const expected =
        'the source keeps 12.4 GB of log for this paused pipe; start it, or delete it, before its disk is full'
      assert.equal(await look(), expected)
      const after = await service.load(id)
      assert.deepEqual([after.version, after.updatedAt, after.state], [version, updatedAt, 'Paused'])
      retainedBytes = 13 * gigabyte
      await look()
      const warnings = () => logged.filter(({ pipeId }) => pipeId === id).map(({ reason }) => reason)
      const warned = [
        'the pipe is Paused, and the source keeps 12430000000 bytes for it; after 7 bytes more it gives the slot up',
      ]
      assert.deepEqual(warnings(), warned)
      retainedBytes = 10 * gigabyte
      assert.equal(await look(), null)
      retainedBytes = 11 * gigabyte
      assert.match(await look(), /11 GB/)
      await until(async () => warnings().length === 2, 'it is reported again')
      await service.send('PATCH', `/${id}/state`, { command: 'start' })
      await task.close()
      const started = (await metricsOf(service, id)).stateReason
      assert.match(started, /^the source keeps 11 GB of log that this pipe has not taken yet/)
    })

    it('is reported in addition to the failure of a pipe', async () => {
      const service = await serviceOfPipes(app())
      const id = await makePipe(service, 'Failed')
      await app().query(`UPDATE pipes SET state_reason = 'the table is gone' WHERE id = '${id}'`)
      await app().query(`INSERT INTO pipe_figures (pipe_id, retained_bytes) VALUES ('${id}', ${12 * gigabyte})`)
      assert.equal(
        (await metricsOf(service, id)).stateReason,
        'the table is gone; also, the source keeps 12 GB of log for this failed pipe; start it, or delete it, before its disk is full',
      )
    })

    it('stays the same when the source does not answer, or when the pipe was started', async () => {
      const service = await serviceOfPipes(app())
      const silent = await makePipe(service, 'Paused')
      const started = await makePipe(service, 'Paused')
      for (const id of [silent, started]) {
        await app().query(`INSERT INTO pipe_figures (pipe_id, retained_bytes) VALUES ('${id}', 3)`)
      }
      const asked = new Set<string>()
      const { task, logged } = makePeriodicTask(async ({ pipeId }) => {
        if (pipeId === started) await service.send('PATCH', `/${started}/state`, { command: 'start' })
        asked.add(pipeId)
        if (pipeId === silent) throw new Error('a defect')
        return pipeId === started ? { retainedBytes: 99 * gigabyte, safeBytes: undefined } : undefined
      })
      task.consider({ isFirst: true })
      await until(() => asked.has(silent) && asked.has(started), 'both are asked')
      await task.close()
      assert.equal((await metricsOf(service, silent)).retainedBytes, 3)
      assert.equal((await metricsOf(service, started)).retainedBytes, 3)
      assert.deepEqual(
        logged.filter(({ pipeId }) => pipeId === silent || pipeId === started).map(({ msg }) => msg),
        ['asking a source how much log it keeps ended with an unexpected error'],
      )
    })
  },
  {
    operations: {
      publicUrl: 'https://penstock.example.com',
      privateEndpointServices: {},
      retainedLogWarningBytes: 10 * gigabyte,
    },
  },
)
