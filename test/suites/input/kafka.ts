// Input table: the fields of Kafka pipes.
import { emoji, type Line, openTable, password, pem } from './line.ts'

export const kafkaLines: Line[] = []
const { bad, good } = openTable(kafkaLines)

const kafka = (patch: object) => ({ source: { kafka: patch } })
bad('kafka', 'other brokers', kafka({ brokers: 'x:1' }), 'source.kafka.brokers cannot be changed')
good('kafka', 'the topics it has', kafka({ topics: 'orders', reversePrivateEndpointIds: ['e'] }), '"topics":"orders"')
bad(
  'kafka',
  'an unknown authentication',
  kafka({ authentication: 'KERBEROS' }),
  'source.kafka.authentication must be one of PLAIN, SCRAM-SHA-256',
)
bad('kafka', 'authentication null', kafka({ authentication: null }), 'source.kafka.authentication must be one of')
bad('kafka', 'authentication in small letters', kafka({ authentication: 'plain' }), 'not "plain"')
bad(
  'kafka',
  'IAM_USER without its credentials',
  kafka({ authentication: 'IAM_USER' }),
  'source.kafka.credentials must have accessKeyId and secretKey',
)
bad(
  'kafka',
  'an invalid certificate',
  kafka({ caCertificate: 'MIIB' }),
  'source.kafka.caCertificate must be PEM: one or more "-----BEGIN CERTIFICATE-----" blocks or null',
)
bad(
  'kafka',
  'a certificate that is cut',
  kafka({ caCertificate: pem.slice(0, 40) }),
  'source.kafka.caCertificate must be PEM',
)
bad(
  'kafka',
  'a private key in place of a certificate',
  kafka({ caCertificate: pem.replaceAll('CERTIFICATE', 'PRIVATE KEY') }),
  'source.kafka.caCertificate must be PEM',
)
bad(
  'kafka',
  'an empty certificate',
  kafka({ caCertificate: '' }),
  'source.kafka.caCertificate must have 1 to 65536 characters',
)
bad('kafka', 'a certificate as a list', kafka({ caCertificate: [pem] }), 'source.kafka.caCertificate must be PEM')
good('kafka', 'two certificates', kafka({ caCertificate: `${pem}\r\n${pem}` }), JSON.stringify(`${pem}\r\n${pem}`))
good('kafka', 'certificate null', kafka({ caCertificate: null }), '"type":"kafka"')
bad('kafka', 'an empty role', kafka({ iamRole: '' }), 'source.kafka.iamRole must have 1 to 2048 characters')
bad(
  'kafka',
  'a role of 2,049 characters',
  kafka({ iamRole: 'r'.repeat(2049) }),
  'source.kafka.iamRole must have 1 to 2048 characters, not 2049',
)
bad(
  'kafka',
  'endpoints as text',
  kafka({ reversePrivateEndpointIds: 'a' }),
  'source.kafka.reversePrivateEndpointIds must be a list or null, not "a"',
)
bad(
  'kafka',
  '65 endpoints',
  kafka({ reversePrivateEndpointIds: Array.from({ length: 65 }, (_, at) => `e${at}`) }),
  'must have at most 64 items, not 65',
)
bad(
  'kafka',
  'an empty endpoint',
  kafka({ reversePrivateEndpointIds: [''] }),
  'source.kafka.reversePrivateEndpointIds[0] must have 1 to 255 characters',
)
bad(
  'kafka',
  'an endpoint of 256 characters',
  kafka({ reversePrivateEndpointIds: ['e'.repeat(256)] }),
  'must have 1 to 255 characters, not 256',
)
good(
  'kafka',
  '64 endpoints',
  kafka({ reversePrivateEndpointIds: Array.from({ length: 64 }, (_, at) => `e${at}`) }),
  '"e63"',
)
good('kafka', 'no endpoints', kafka({ reversePrivateEndpointIds: [] }), '"reversePrivateEndpointIds":[]')
bad(
  'kafka',
  'credentials as text',
  kafka({ credentials: password }),
  'source.kafka.credentials must be an object or null, not a string',
  { hides: password },
)
bad(
  'kafka',
  'credentials as a list',
  kafka({ credentials: [password] }),
  'source.kafka.credentials must be an object or null, not a list',
  { hides: password },
)
bad(
  'kafka',
  'an empty password',
  kafka({ credentials: { password: '' } }),
  'source.kafka.credentials.password must have 1 to 4096 characters',
)
bad(
  'kafka',
  'a password of 4,097 characters',
  kafka({ credentials: { password: password.repeat(274).slice(0, 4097) } }),
  'source.kafka.credentials.password must have 1 to 4096 characters',
  { hides: password },
)
bad(
  'kafka',
  'a password as a list',
  kafka({ credentials: { password: [password] } }),
  'source.kafka.credentials.password must be a string, not a list',
  { hides: password },
)
bad(
  'kafka',
  'a password as a number',
  kafka({ credentials: { password: 20202020 } }),
  'source.kafka.credentials.password must be a string, not a number',
  { hides: '20202020' },
)
bad(
  'kafka',
  'a user name of 1,025 characters',
  kafka({ credentials: { username: 'u'.repeat(1025) } }),
  'source.kafka.credentials.username must have 1 to 1024 characters',
)
bad(
  'kafka',
  'a misspelt password',
  kafka({ credentials: { pasword: password } }),
  'source.kafka.credentials.pasword is not a known field, did you mean "password"?',
  { hides: password },
)
bad('kafka', 'a password outside of credentials', kafka({ password }), 'source.kafka.password is not a known field', {
  hides: password,
})
bad(
  'kafka',
  'a password sent to another kind',
  { source: { postgres: { credentials: { password } } } },
  'source.postgres is invalid',
  { hides: password },
)
bad(
  'kafka',
  'credentials null where they are needed',
  kafka({ credentials: null }),
  'source.kafka.credentials must have username and password, because authentication is PLAIN',
)
good(
  'kafka',
  'a password of every ASCII character',
  kafka({ credentials: { password: String.fromCharCode(...Array.from({ length: 127 }, (_, at) => at + 1)) } }),
  '"authentication":"PLAIN"',
)
good(
  'kafka',
  'a password of emoji',
  kafka({ credentials: { password: emoji.repeat(4096) } }),
  '"authentication":"PLAIN"',
  { hides: emoji },
)
