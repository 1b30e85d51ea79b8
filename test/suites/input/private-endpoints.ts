// Input table: registering private endpoints.
import { emoji, type Line, type More, openTable } from './line.ts'

export const endpointLines: Line[] = []
const { bad, good } = openTable(endpointLines)

const endpointId = 'vpce-0a1b2c3d4e5f67890'
const strict = (query: string): More => ({ path: (path) => `${path}?${query}` })
bad('endpoint', 'no id', { description: 'x' }, 'id is required')
bad('endpoint', 'id null', { id: null }, 'id must be 1 to 255 printable ASCII characters without white space, not null')
bad(
  'endpoint',
  'id as a number',
  { id: 17 },
  'id must be 1 to 255 printable ASCII characters without white space, not 17',
)
bad('endpoint', 'id as a list', { id: [endpointId] }, 'not a list')
bad('endpoint', 'an empty id', { id: '' }, 'id must have 1 to 255 characters, not 0')
bad('endpoint', 'an id of 256 characters', { id: 'v'.repeat(256) }, 'id must have 1 to 255 characters, not 256')
bad('endpoint', 'an id with a space', { id: 'vpce 1' }, 'without white space, not "vpce 1"')
bad('endpoint', 'an id with a newline', { id: `${endpointId}\n` }, 'without white space')
bad('endpoint', 'an id beyond ASCII', { id: 'vpce-é' }, 'printable ASCII')
bad('endpoint', 'an id with DEL', { id: 'vpce\u007f' }, 'printable ASCII')
bad('endpoint', 'description null', { id: endpointId, description: null }, 'description must be a string, not null')
bad('endpoint', 'description as a number', { id: endpointId, description: 1 }, 'description must be a string, not 1')
bad(
  'endpoint',
  'a description of 256 emoji',
  { id: endpointId, description: emoji.repeat(256) },
  'description must have at most 255 characters, not 256',
)
bad('endpoint', 'a region', { id: endpointId, region: 'us-east-1' }, 'region is not a known field')
bad('endpoint', 'a cloud provider', { id: endpointId, cloudProvider: 'aws' }, 'cloudProvider is not a known field')
bad(
  'endpoint',
  'an unusual id, strictly',
  { id: 'vpce-1' },
  'id "vpce-1" does not look like an endpoint of aws',
  strict('strict=true'),
)
bad('endpoint', 'strict in capitals', { id: endpointId }, 'strict must be a boolean, not "TRUE"', strict('strict=TRUE'))
bad('endpoint', 'strict as 1', { id: endpointId }, 'strict must be a boolean, not "1"', strict('strict=1'))
bad('endpoint', 'strict empty', { id: endpointId }, 'strict must be a boolean, not ""', strict('strict='))
bad('endpoint', 'strict without a value', { id: endpointId }, 'strict must be a boolean, not ""', strict('strict'))
bad(
  'endpoint',
  'strict twice',
  { id: endpointId },
  'the query parameter "strict" is sent more than once',
  strict('strict=true&strict=true'),
)
bad(
  'endpoint',
  'strict with a stranger',
  { id: endpointId },
  'dryRun is not a known field',
  strict('strict=true&dryRun=1'),
)
good('endpoint', 'strict, percent-encoded', { id: 'vpce-0a1b2c3d' }, '"id":"vpce-0a1b2c3d"', strict('%73trict=true'))
good('endpoint', 'an id of 255 characters', { id: 'v'.repeat(255) }, `"id":"${'v'.repeat(255)}"`)
good('endpoint', 'no description', { id: endpointId }, '"description":""')
good('endpoint', 'the same again', { id: endpointId, description: '' }, `"id":"${endpointId}"`)
endpointLines.push({
  name: 'the same with another description',
  to: 'endpoint',
  body: { id: endpointId, description: 'x' },
  status: 409,
  says: `private endpoint ${endpointId} is already registered`,
})
good('endpoint', 'an unusual id, with a warning', { id: 'a"b\\c' }, '"id":"a\\"b\\\\c"', {
  header: ['warning', '199 - "id '],
})
