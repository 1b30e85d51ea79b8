// Input table: the fields that all pipes share.
import { type Line, openTable, password } from './line.ts'

export const pipeLines: Line[] = []
const { bad, good } = openTable(pipeLines)

bad('kafka', 'an empty object', {}, 'the body has nothing to update')
bad(
  'kafka',
  'empty objects inside',
  { source: { kafka: {} }, settings: {}, destination: {} },
  'the body has nothing to update',
)
bad('kafka', 'an unknown field', { nmae: 'x' }, 'nmae is not a known field, did you mean "name"?')
bad('kafka', 'an empty name', { name: '' }, 'name must have 1 to 255 characters, not 0')
bad('kafka', 'a name of 256 characters', { name: 'n'.repeat(256) }, 'name must have 1 to 255 characters, not 256')
bad('kafka', 'name null', { name: null }, 'name must be a string, not null')
bad('kafka', 'name as a number', { name: 5 }, 'name must be a string, not 5')
bad('kafka', 'name as an object', { name: {} }, 'name must be a string, not an object')
good('kafka', 'a name of one character', { name: 'n' }, '"name":"n"')
good('kafka', 'a name of 255 characters', { name: 'n'.repeat(255) }, `"name":"${'n'.repeat(255)}"`)
bad('kafka', 'a state', { state: 'Running' }, 'state cannot be changed (it is "Stopped")')
bad('kafka', 'another id', { id: '00000000-0000-4000-8000-000000000000' }, 'id cannot be changed')
bad('kafka', 'an id of the wrong type', { id: 7 }, 'id cannot be changed')
bad(
  'kafka',
  'scaling',
  { scaling: { replicas: 2 } },
  'scaling.replicas cannot be changed (it is 1); PATCH …/pipes/{pipeId}/scaling changes it',
)
bad(
  'kafka',
  'three problems, reported together',
  { name: '', settings: { engine_max_threads: 65 }, fieldMappings: 'x' },
  ['name must have', 'settings.engine_max_threads must be', 'fieldMappings must be a list'],
)
good(
  'kafka',
  'the state and the destination it has',
  { name: 'n', state: 'Stopped', destination: { database: 'default' } },
  '"state":"Stopped"',
)

bad('kafka', 'destination null', { destination: null }, 'destination must be an object, not null')
bad('kafka', 'destination as a list', { destination: [] }, 'destination must be an object, not a list')
bad(
  'kafka',
  'another database',
  { destination: { database: 'other' } },
  'destination.database cannot be changed (it is "default")',
)
bad('kafka', 'another table', { destination: { table: null } }, 'destination.table cannot be changed')
bad('kafka', 'columns null', { destination: { columns: null } }, 'destination.columns must be a list, not null')
bad(
  'kafka',
  'columns as an object',
  { destination: { columns: {} } },
  'destination.columns must be a list, not an object',
)
bad(
  'kafka',
  'a column null',
  { destination: { columns: [null] } },
  'destination.columns[0] must be an object, not null',
)
bad(
  'kafka',
  'a column without a name',
  { destination: { columns: [{ type: 'String' }] } },
  'destination.columns[0].name is required',
)
bad(
  'kafka',
  'a column without a type',
  { destination: { columns: [{ name: 'customer' }] } },
  'destination.columns[0].type is required',
)
bad(
  'kafka',
  'a column with an empty name',
  { destination: { columns: [{ name: '', type: 'String' }] } },
  'destination.columns[0].name must have 1 to 255 characters',
)
bad(
  'kafka',
  'a column with a blank type',
  { destination: { columns: [{ name: 'a', type: ' \t' }] } },
  'destination.columns[0].type must be a ClickHouse data type',
)
bad(
  'kafka',
  'a column with a type of 4,097 characters',
  { destination: { columns: [{ name: 'a', type: 'T'.repeat(4097) }] } },
  'must have 1 to 4096 characters, not 4097',
)
bad(
  'kafka',
  'a column with a stranger',
  { destination: { columns: [{ name: 'a', type: 'String', nullable: true }] } },
  'destination.columns[0].nullable is not a known field',
)
bad(
  'kafka',
  'a column twice',
  {
    destination: {
      columns: [
        { name: 'customer', type: 'String' },
        { name: 'customer', type: 'Int8' },
      ],
    },
  },
  'destination.columns[1].name repeats "customer"',
)
bad(
  'kafka',
  'columns without one that is mapped',
  { destination: { columns: [] } },
  `fieldMappings[0].destinationField names "customer", which is not one of the destination's columns`,
)
bad(
  'kafka',
  '2,001 columns',
  { destination: { columns: Array.from({ length: 2001 }, (_, at) => ({ name: `c${at}`, type: 'String' })) } },
  'destination.columns must have at most 2000 items, not 2001',
)
bad(
  'kafka',
  'more problems than are listed',
  { destination: { columns: Array.from({ length: 500 }, () => ({})) } },
  'the body has more problems than the 100 that are listed',
)
good(
  'kafka',
  '2,000 columns',
  {
    destination: { columns: Array.from({ length: 2000 }, (_, at) => ({ name: `c${at}`, type: 'String' })) },
    fieldMappings: [],
  },
  '"name":"c1999"',
)
good(
  'kafka',
  'names that only differ in case',
  {
    destination: {
      columns: [
        { name: 'a', type: 'String' },
        { name: 'A', type: 'String' },
      ],
    },
  },
  '"name":"A"',
)
good(
  'kafka',
  'a column named as it can be',
  { destination: { columns: [{ name: '`"); DROP TABLE x', type: "Enum8('a' = 1)" }] } },
  'DROP TABLE x',
)
good('kafka', 'no columns', { destination: { columns: [] } }, '"columns":[]')
good(
  'kafka',
  'a column named __proto__ by its value',
  {
    destination: {
      columns: [
        { name: '__proto__', type: 'String' },
        { name: 'customer', type: 'String' },
      ],
    },
  },
  '"name":"__proto__"',
)

bad('kafka', 'mappings null', { fieldMappings: null }, 'fieldMappings must be a list, not null')
bad(
  'kafka',
  'mappings as an object',
  { fieldMappings: { customer: 'name' } },
  'fieldMappings must be a list, not an object',
)
bad(
  'kafka',
  'a mapping without a source',
  { fieldMappings: [{ destinationField: 'customer' }] },
  'fieldMappings[0].sourceField is required',
)
bad(
  'kafka',
  'a mapping with an empty source',
  { fieldMappings: [{ destinationField: 'customer', sourceField: '' }] },
  'fieldMappings[0].sourceField must have 1 to 1024 characters',
)
bad(
  'kafka',
  'a mapping with a source of 1,025 characters',
  { fieldMappings: [{ destinationField: 'customer', sourceField: 's'.repeat(1025) }] },
  'must have 1 to 1024 characters, not 1025',
)
bad(
  'kafka',
  'a mapping to no column',
  { fieldMappings: [{ destinationField: 'nobody', sourceField: 'x' }] },
  'names "nobody", which is not one of',
)
bad(
  'kafka',
  'a mapping to a name of Object',
  { fieldMappings: [{ destinationField: 'constructor', sourceField: 'x' }] },
  'names "constructor", which is not one of',
)
bad(
  'kafka',
  'a column mapped twice',
  {
    fieldMappings: [
      { destinationField: 'customer', sourceField: 'x' },
      { destinationField: 'customer', sourceField: 'y' },
    ],
  },
  'fieldMappings[1].destinationField maps "customer" a second time',
)
good(
  'kafka',
  'a mapping with a source of 1,024 characters',
  { fieldMappings: [{ destinationField: 'customer', sourceField: 's'.repeat(1024) }] },
  's'.repeat(1024),
)
good('kafka', 'no mappings', { fieldMappings: [] }, '"fieldMappings":[]')

bad('kafka', 'settings null', { settings: null }, 'settings must be an object, not null')
bad('kafka', 'settings as a list', { settings: [] }, 'settings must be an object, not a list')
bad('kafka', 'an unknown setting', { settings: { max_threads: 1 } }, 'settings.max_threads is not a known field')
bad('kafka', 'a misspelt setting', { settings: { engine_max_thread: 1 } }, 'did you mean "engine_max_threads"?')
const bounds: Record<string, [least: number, most: number, byDefault: number]> = {
  streaming_max_insert_wait_ms: [500, 60_000, 5_000],
  object_storage_concurrency: [1, 35, 1],
  object_storage_polling_interval_ms: [100, 3_600_000, 30_000],
  object_storage_max_insert_bytes: [10_485_760, 53_687_091_200, 10_737_418_240],
  object_storage_max_file_count: [1, 10_000, 100],
  engine_max_threads: [0, 64, 0],
  engine_max_insert_threads: [0, 16, 1],
  engine_max_download_threads: [0, 32, 4],
  engine_min_insert_block_size_bytes: [0, 10_737_418_240, 1_073_741_824],
  engine_parallel_distributed_insert_select: [0, 2, 2],
}
for (const [setting, [least, most, byDefault]] of Object.entries(bounds)) {
  const allowed = `settings.${setting} must be an integer between ${least} and ${most} or null, not `
  bad('kafka', `${setting} below`, { settings: { [setting]: least - 1 } }, `${allowed}${least - 1}`)
  bad('kafka', `${setting} above`, { settings: { [setting]: most + 1 } }, `${allowed}${most + 1}`)
  bad('kafka', `${setting} with a fraction`, { settings: { [setting]: least + 0.5 } }, `${allowed}${least + 0.5}`)
  bad('kafka', `${setting} as text`, { settings: { [setting]: String(least) } }, `${allowed}"${least}"`)
  good('kafka', `${setting} least`, { settings: { [setting]: least } }, `"${setting}":${least}`)
  good('kafka', `${setting} most`, { settings: { [setting]: most } }, `"${setting}":${most}`)
  good('kafka', `${setting} null`, { settings: { [setting]: null } }, `"${setting}":${byDefault}`)
}
for (const [setting, byDefault] of [
  ['object_storage_use_cluster_function', true],
  ['engine_parallel_view_processing', false],
] as const) {
  const allowed = `settings.${setting} must be a boolean or null, not `
  bad('kafka', `${setting} as 1`, { settings: { [setting]: 1 } }, `${allowed}1`)
  bad('kafka', `${setting} as text`, { settings: { [setting]: 'true' } }, `${allowed}"true"`)
  good('kafka', `${setting} turned`, { settings: { [setting]: !byDefault } }, `"${setting}":${!byDefault}`)
  good('kafka', `${setting} null`, { settings: { [setting]: null } }, `"${setting}":${byDefault}`)
}

bad('kafka', 'source null', { source: null }, 'source must be an object, not null')
bad('kafka', 'source as text, which may be a secret', { source: password }, 'source must be an object, not a string', {
  hides: password,
})
bad('kafka', 'a source of no kind', { source: { mysql: {} } }, 'source.mysql is not a known field')
bad(
  'kafka',
  'a source of another kind',
  { source: { kinesis: { iamRole: 'x' } } },
  'source.kinesis is invalid: this is a kafka pipe',
)
bad('kafka', 'a source null', { source: { kafka: null } }, 'source.kafka must be an object, not null')
bad(
  'kafka',
  'validateSamples as text',
  { source: { validateSamples: 'true' } },
  'source.validateSamples must be a boolean, not "true"',
)
bad(
  'kafka',
  'validateSamples null',
  { source: { validateSamples: null } },
  'source.validateSamples must be a boolean, not null',
)
good('kafka', 'validateSamples false', { name: 'n', source: { validateSamples: false } }, '"name":"n"')
