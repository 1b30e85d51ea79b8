// Input table: the fields of object storage pipes.
import { type Line, openTable, password } from './line.ts'

export const objectStorageLines: Line[] = []
const { bad, good } = openTable(objectStorageLines)

const storage = (patch: object) => ({ source: { objectStorage: patch } })
bad(
  'objectStorage',
  'an empty connection string',
  storage({ connectionString: '' }),
  'source.objectStorage.connectionString must have 1 to 4096 characters',
)
bad(
  'objectStorage',
  'a connection string of 4,097 characters',
  storage({ connectionString: `AccountKey=${password}`.padEnd(4097, 'x') }),
  'must have 1 to 4096 characters',
  { hides: password },
)
bad(
  'objectStorage',
  'a connection string as a number',
  storage({ connectionString: 20202020 }),
  'source.objectStorage.connectionString must be "name=value" parts separated by ";" or null, not a number',
  { hides: '20202020' },
)
bad(
  'objectStorage',
  'a connection string with the mask',
  storage({ connectionString: 'AccountName=x;AccountKey=***' }),
  'has *** in place of its secret',
)
bad(
  'objectStorage',
  'CONNECTION_STRING for s3',
  storage({ authentication: 'CONNECTION_STRING' }),
  'source.objectStorage.authentication must be IAM_ROLE or IAM_USER for s3',
)
bad(
  'objectStorage',
  'IAM_USER without a key',
  storage({ authentication: 'IAM_USER' }),
  'source.objectStorage.accessKey must have accessKeyId and secretKey',
)
bad(
  'objectStorage',
  'role null where it is needed',
  storage({ iamRole: null }),
  'source.objectStorage.iamRole is required',
)
bad(
  'objectStorage',
  'a container of 256 characters',
  storage({ azureContainerName: 'c'.repeat(256) }),
  'source.objectStorage.azureContainerName must have 1 to 255 characters, not 256',
)
bad(
  'objectStorage',
  'a path of 1,025 characters',
  storage({ path: 'p'.repeat(1025) }),
  'source.objectStorage.path must have 1 to 1024 characters, not 1025',
)
bad(
  'objectStorage',
  'another URL',
  storage({ url: 'https://x.example/' }),
  'source.objectStorage.url cannot be changed',
)
bad(
  'objectStorage',
  'isContinuous as text',
  storage({ isContinuous: 'true' }),
  'source.objectStorage.isContinuous cannot be changed',
)
good(
  'objectStorage',
  'a connection string, masked',
  storage({ connectionString: `BlobEndpoint=https://x.example;SharedAccessSignature=sv=1&sig=${password}` }),
  'SharedAccessSignature=***',
  { hides: password },
)
bad(
  'objectStorage',
  'a URL as a connection string',
  storage({ connectionString: `https://x.example/?sv=1&sig=${password}&se=2` }),
  'source.objectStorage.connectionString must be "name=value" parts separated by ";" or null',
  { hides: password },
)
good(
  'objectStorage',
  'a signature in a URL, masked',
  storage({ connectionString: `BlobEndpoint=https://x.example/?sv=1&sig=${password}&se=2` }),
  'sig=***&se=2',
  { hides: password },
)
good('objectStorage', 'connection string null', storage({ connectionString: null }), '"type":"s3"', {
  hides: 'connectionString',
})
bad(
  'objectStorage',
  'authentication null, where a queue is read',
  storage({ authentication: null }),
  'source.objectStorage.authentication is required, because a queue cannot be read without credentials',
)
good(
  'objectStorage',
  'an access key, which switches',
  storage({ accessKey: { accessKeyId: 'a', secretKey: password } }),
  '"authentication":"IAM_USER"',
  { hides: password },
)
good('objectStorage', 'a glob', storage({ path: '**/{a,b}/[0-9]*.json' }), '**/{a,b}/[0-9]*.json')
