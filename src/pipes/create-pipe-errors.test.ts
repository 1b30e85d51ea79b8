// Refused bodies of new pipes, outside the source.
import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import {
  type Json,
  leastPipes,
  pointersOf,
  type ServiceOfPipes,
  serviceOfPipes,
  withField,
} from '../../test/harness/pipes.ts'
import { onBothDatabases } from '../../test/harness/test-app.ts'
import { bounds, columns, pipeLists, unknownId } from '../../test/pipe-cases/create-pipe.ts'

const text = (length: number) => 'x'.repeat(length)

/** The minimal Kafka pipe with one error each; `pointers` is where the response points, if not to the field itself. */
const refused: [path: string, value: unknown, pointers?: string[]][] = [
  ['name', undefined],
  ['name', ''],
  ['name', text(256)],
  ['name', null],
  ['name', 5],
  ['source', undefined],
  ['source', null],
  ['source', {}],
  ['source', { validateSamples: false }],
  ['source.validateSamples', 'true'],
  ['source.mysql', {}],
  ['destination', undefined],
  ['destination.database', undefined],
  ['destination.database', ''],
  ['destination.database', text(256)],
  ['destination.table', undefined],
  ['destination.table', ''],
  ['destination.table', text(256)],
  ['destination.columns', undefined, ['#/destination/columns']],
  ['destination.columns', [], ['#/destination/columns']],
  ['destination.columns', null],
  ['destination.columns.0.name', ''],
  ['destination.columns.0.type', ' '],
  ['destination.columns.0.type', 'Int65'],
  ['destination.columns.0.type', 'Nullable(String); DROP TABLE x'],
  ['destination.columns.0.codec', 'ZSTD'],
  ['destination.columns', [columns[0], columns[0]], ['#/destination/columns/1/name']],
  ['destination.columns', Array.from({ length: 2001 }, (_, at) => ({ name: `c${at}`, type: 'String' }))],
  ['destination.managedTable', null],
  ['destination.managedTable', 'yes'],
  ['destination.managedTable', false, ['#/destination/tableDefinition']],
  ['destination.tableDefinition', undefined],
  ['destination.tableDefinition', {}, ['#/destination/tableDefinition/engine']],
  ['destination.tableDefinition.engine.type', 'Log'],
  ['destination.tableDefinition.engine.codec', 'x'],
  ['destination.tableDefinition.engine.versionColumnId', 'order_id'],
  ['destination.tableDefinition.engine.versionColumnId', ''],
  ['destination.tableDefinition.engine.columnIds', ['order_id']],
  [
    'destination.tableDefinition.engine',
    { type: 'SummingMergeTree', versionColumnId: 'order_id' },
    ['#/destination/tableDefinition/engine/versionColumnId'],
  ],
  [
    'destination.tableDefinition.engine',
    { type: 'ReplacingMergeTree', columnIds: ['order_id'] },
    ['#/destination/tableDefinition/engine/columnIds'],
  ],
  [
    'destination.tableDefinition.engine',
    { type: 'ReplacingMergeTree', versionColumnId: 'nowhere' },
    ['#/destination/tableDefinition/engine/versionColumnId'],
  ],
  [
    'destination.tableDefinition.engine',
    { type: 'SummingMergeTree', columnIds: ['order_id', 'nowhere'] },
    ['#/destination/tableDefinition/engine/columnIds/1'],
  ],
  [
    'destination.tableDefinition.engine',
    { type: 'SummingMergeTree', columnIds: ['order_id', 'order_id'] },
    ['#/destination/tableDefinition/engine/columnIds'],
  ],
  ['destination.tableDefinition.sortingKey', ['nowhere'], ['#/destination/tableDefinition/sortingKey/0']],
  ['destination.tableDefinition.sortingKey', ['order_id', 'order_id']],
  ['destination.tableDefinition.sortingKey', 'order_id'],
  ['destination.tableDefinition.primaryKey', ''],
  ['destination.tableDefinition.partitionBy', text(1025)],
  ['fieldMappings', null],
  ['fieldMappings', [{ destinationField: 'nowhere', sourceField: 'a' }], ['#/fieldMappings/0/destinationField']],
  ['fieldMappings', [{ destinationField: 'order_id' }], ['#/fieldMappings/0/sourceField']],
  [
    'fieldMappings',
    [
      { destinationField: 'order_id', sourceField: 'a' },
      { destinationField: 'order_id', sourceField: 'b' },
    ],
    ['#/fieldMappings/1/destinationField'],
  ],
  ['scaling', null],
  ['scaling.replicas', null],
  ['scaling.replicas', 1.5],
  ['scaling.pods', 1],
  ['settings', null],
  ['settings.engine_max_threads', null],
  ['settings.engine_parallel_view_processing', 1],
  ['settings.max_threads', 1],
  ['startPaused', 'true'],
  ['startPaused', null],
  ['id', unknownId],
  ['serviceId', unknownId],
  ['state', 'Stopped'],
  ['createdAt', '2026-01-01T00:00:00.000Z'],
  ['stratPaused', true],
]

onBothDatabases('createPipe', (app) => {
  const { list } = pipeLists(() => service)
  let service: ServiceOfPipes
  before(async () => {
    service = await serviceOfPipes(app())
  })

  describe('400', () => {
    for (const [path, value, pointers] of refused) {
      const shown = JSON.stringify(value)?.slice(0, 60) ?? 'nothing'
      it(`refuses ${path} with ${shown}`, async () => {
        const before = (await list()).length
        const answer = await service.send('POST', '', withField(leastPipes.kafka, path, value))
        assert.equal(answer.status, 400, answer.text)
        assert.equal(answer.body.code, 'invalid_body')
        assert.deepEqual(pointersOf(answer), pointers ?? [`#/${path.replaceAll('.', '/')}`])
        assert.equal((await list()).length, before)
        assert.doesNotMatch(answer.text, /hush/)
      })
    }

    it('refuses what is out of bounds', async () => {
      for (const [path, least, most, step] of bounds) {
        for (const value of [least - step, most + step]) {
          const answer = await service.send('POST', '', withField(leastPipes.kafka, path, value))
          assert.equal(answer.status, 400, `${path} ${value}`)
          assert.deepEqual(pointersOf(answer), [`#/${path.replace('.', '/')}`])
        }
      }
    })

    it('refuses a table of its own for a postgres pipe', async () => {
      const answer = await service.send('POST', '', {
        ...leastPipes.postgres,
        destination: {
          database: 'analytics',
          table: 'orders',
          managedTable: true,
          columns,
          tableDefinition: { engine: { type: 'MergeTree' } },
        },
      })
      assert.equal(answer.status, 400)
      assert.deepEqual(pointersOf(answer), [
        '#/destination/columns',
        '#/destination/managedTable',
        '#/destination/table',
        '#/destination/tableDefinition',
      ])
      assert.match(answer.body.detail, /not for a postgres pipe: its table mappings say where the data goes/)
      for (const [path, value] of [
        ['destination.columns', columns],
        ['destination.managedTable', false],
        ['destination.table', 'orders'],
      ] as const) {
        const alone = await service.send('POST', '', withField(leastPipes.postgres, path, value))
        assert.deepEqual(pointersOf(alone), [`#/${path.replace('.', '/')}`])
      }
      const mapped = { ...leastPipes.postgres, fieldMappings: [{ destinationField: 'a', sourceField: 'b' }] }
      assert.deepEqual(pointersOf(await service.send('POST', '', mapped)), ['#/fieldMappings/0/destinationField'])
    })

    it('gives a postgres pipe no columns by an update either', async () => {
      const { id } = await service.create(leastPipes.postgres)
      const answer = await service.send('PATCH', `/${id}`, { destination: { columns } })
      assert.equal(answer.status, 400)
      assert.deepEqual(pointersOf(answer), ['#/destination/columns'])
      assert.equal((await service.send('PATCH', `/${id}`, { destination: { columns: [] } })).status, 200)
    })

    it('rejects two kinds of source, and reports the errors of both', async () => {
      const { kafka } = leastPipes.kafka.source as Json
      const answer = await service.send('POST', '', {
        ...leastPipes.kafka,
        source: { kafka: { ...(kafka as Json), brokers: 'x' }, kinesis: { ...kinesis(), authentication: 'IAM_USER' } },
      })
      assert.equal(answer.status, 400)
      assert.deepEqual(pointersOf(answer), ['#/source', '#/source/kafka/brokers', '#/source/kinesis/accessKey'])
      assert.match(answer.body.detail, /exactly one of kafka, kinesis, objectStorage, postgres, not kafka and kinesis/)
    })

    it('reports all invalid fields at once', async () => {
      const answer = await service.send('POST', '', {
        name: '',
        source: { kafka: { type: 'x', brokers: 5, credentials: { password: '' } } },
        destination: { columns: [{ name: '' }] },
        settings: { engine_max_threads: 65 },
        nmae: 'x',
      })
      assert.deepEqual(pointersOf(answer), [
        '#/destination/columns/0/name',
        '#/destination/columns/0/type',
        '#/destination/database',
        '#/name',
        '#/nmae',
        '#/settings/engine_max_threads',
        '#/source/kafka/authentication',
        '#/source/kafka/brokers',
        '#/source/kafka/credentials/password',
        '#/source/kafka/format',
        '#/source/kafka/topics',
        '#/source/kafka/type',
      ])
    })

    it('reports all broken rules at once', async () => {
      const answer = await service.send('POST', '', {
        name: 'orders',
        source: {
          kafka: {
            type: 'kafka',
            format: 'AvroConfluent',
            brokers: 'broker',
            topics: 'a,,b',
            authentication: 'IAM_ROLE',
            offset: { strategy: 'from_latest', timestamp: '2026-01-01T00:00' },
          },
        },
        destination: {
          database: 'a',
          columns: [...columns, columns[0]],
          tableDefinition: { engine: { type: 'MergeTree', versionColumnId: 'x' }, sortingKey: ['y'] },
        },
        fieldMappings: [{ destinationField: 'z', sourceField: 'a' }],
      })
      assert.equal(answer.status, 400)
      assert.deepEqual(pointersOf(answer), [
        '#/destination/columns/3/name',
        '#/destination/table',
        '#/destination/tableDefinition/engine/versionColumnId',
        '#/destination/tableDefinition/sortingKey/0',
        '#/fieldMappings/0/destinationField',
        '#/source/kafka/brokers',
        '#/source/kafka/iamRole',
        '#/source/kafka/offset/timestamp',
        '#/source/kafka/schemaRegistry',
        '#/source/kafka/topics',
      ])
    })
  })
})

function kinesis(): Json {
  return (leastPipes.kinesis.source as { kinesis: Json }).kinesis
}
