// Changes of the authentication of a Kafka source. Every secret in this file has the word "hush" in it.
import type { SourceSecrets } from '../../src/source-shapes/source-kind.ts'

const role = 'arn:aws:iam::000000000000:role/penstock-kafka'
const otherRole = 'arn:aws:iam::111111111111:role/other'
export const login = { username: 'hush-user', password: 'hush-password' }
export const newLogin = { username: 'hush-new-user', password: 'hush-new-password' }
const userKey = { accessKeyId: 'hush-key-id', secretKey: 'hush-secret-key' }
const newUserKey = { accessKeyId: 'hush-new-key-id', secretKey: 'hush-new-secret-key' }
const clientCertificate = { certificate: 'hush-certificate', privateKey: 'hush-private-key' }
export const pem = (name: string, content: string) => `-----BEGIN ${name}-----\n${content}\n-----END ${name}-----\n`
const newCertificate = { certificate: pem('CERTIFICATE', 'hush1'), privateKey: pem('EC PRIVATE KEY', 'hush2') }
const eventHub = { connectionString: 'Endpoint=hush' }

type Credentials = NonNullable<SourceSecrets['credentials']>

export interface Start {
  authentication: string
  type?: string
  iamRole?: string
  credentials?: Credentials
}

interface Switch {
  title: string
  start: Start
  send: Record<string, unknown>
  /** After the update. */
  authentication: string
  iamRole?: string
  credentials?: Credentials
}

export const plain: Start = { authentication: 'PLAIN', iamRole: role, credentials: login }
const scram: Start = { authentication: 'SCRAM-SHA-512', credentials: login }
export const byRole: Start = { authentication: 'IAM_ROLE', iamRole: role }
const byRoleWithLogin: Start = { ...byRole, credentials: login }
const byUser: Start = { authentication: 'IAM_USER', credentials: userKey }
const byCertificate: Start = { authentication: 'MUTUAL_TLS', credentials: clientCertificate }

export const switches: Switch[] = [
  {
    title: 'a new password keeps the user name',
    start: plain,
    send: { credentials: { password: 'hush-new-password' } },
    ...plain,
    credentials: { ...login, password: 'hush-new-password' },
  },
  {
    title: 'a new user name keeps the password',
    start: plain,
    send: { credentials: { username: 'hush-new-user' } },
    ...plain,
    credentials: { ...login, username: 'hush-new-user' },
  },
  { title: 'the login it has changes nothing', start: plain, send: { credentials: login }, ...plain },
  {
    title: 'a login stays with the mechanism in use',
    start: scram,
    send: { credentials: newLogin },
    ...scram,
    credentials: newLogin,
  },
  {
    title: 'a role alone switches from a login, which is kept',
    start: plain,
    send: { iamRole: otherRole },
    authentication: 'IAM_ROLE',
    iamRole: otherRole,
    credentials: login,
  },
  {
    title: 'a role alone switches from SCRAM',
    start: scram,
    send: { iamRole: role },
    authentication: 'IAM_ROLE',
    iamRole: role,
    credentials: login,
  },
  {
    title: 'a role alone switches from an access key',
    start: byUser,
    send: { iamRole: role },
    authentication: 'IAM_ROLE',
    iamRole: role,
    credentials: userKey,
  },
  {
    title: 'a role alone switches from a client certificate',
    start: byCertificate,
    send: { iamRole: role },
    authentication: 'IAM_ROLE',
    iamRole: role,
    credentials: clientCertificate,
  },
  { title: 'the role it has switches nothing', start: plain, send: { iamRole: role }, ...plain },
  {
    title: 'a role in the place of a role switches nothing',
    start: byRoleWithLogin,
    send: { iamRole: otherRole },
    ...byRoleWithLogin,
    iamRole: otherRole,
  },
  {
    title: 'a login switches from a role to PLAIN',
    start: byRole,
    send: { credentials: newLogin },
    authentication: 'PLAIN',
    iamRole: role,
    credentials: newLogin,
  },
  {
    title: 'a new password and the stored user name switch from a role to PLAIN',
    start: byRoleWithLogin,
    send: { credentials: { password: 'hush-new-password' } },
    authentication: 'PLAIN',
    iamRole: role,
    credentials: { ...login, password: 'hush-new-password' },
  },
  {
    title: 'a login switches from an access key to PLAIN, and the key is kept',
    start: byUser,
    send: { credentials: newLogin },
    authentication: 'PLAIN',
    credentials: { ...userKey, ...newLogin },
  },
  {
    title: 'login and role together switch nothing from a login, and both are kept',
    start: plain,
    send: { iamRole: otherRole, credentials: newLogin },
    authentication: 'PLAIN',
    iamRole: otherRole,
    credentials: newLogin,
  },
  {
    title: 'login and role together switch nothing from a role, and both are kept',
    start: byRole,
    send: { iamRole: otherRole, credentials: newLogin },
    authentication: 'IAM_ROLE',
    iamRole: otherRole,
    credentials: newLogin,
  },
  {
    title: 'authentication alone works with what is stored',
    start: plain,
    send: { authentication: 'SCRAM-SHA-256' },
    ...plain,
    authentication: 'SCRAM-SHA-256',
  },
  {
    title: 'authentication decides against the role that comes with it',
    start: plain,
    send: { authentication: 'PLAIN', iamRole: otherRole },
    ...plain,
    iamRole: otherRole,
  },
  {
    title: 'authentication decides against the login that comes with it',
    start: byRole,
    send: { authentication: 'IAM_ROLE', credentials: newLogin },
    ...byRole,
    credentials: newLogin,
  },
  {
    title: 'authentication decides between what comes with it',
    start: byRole,
    send: { authentication: 'SCRAM-SHA-512', credentials: newLogin, iamRole: otherRole },
    authentication: 'SCRAM-SHA-512',
    iamRole: otherRole,
    credentials: newLogin,
  },
  {
    title: 'null clears a role that is not in use',
    start: plain,
    send: { iamRole: null },
    authentication: 'PLAIN',
    credentials: login,
  },
  {
    title: 'null clears a login that is not in use',
    start: byRoleWithLogin,
    send: { credentials: null },
    ...byRole,
  },
  {
    title: 'a login that replaces the role',
    start: byRole,
    send: { iamRole: null, credentials: newLogin },
    authentication: 'PLAIN',
    credentials: newLogin,
  },
  {
    title: 'a role that replaces the login',
    start: scram,
    send: { iamRole: role, credentials: null },
    authentication: 'IAM_ROLE',
    iamRole: role,
  },
  {
    title: 'Event Hubs does with its connection string',
    start: { authentication: 'PLAIN', type: 'azureeventhub', credentials: eventHub },
    send: { reversePrivateEndpointIds: ['rpe-2'] },
    authentication: 'PLAIN',
    credentials: eventHub,
  },
  {
    title: 'another connection string stays with the mechanism in use',
    start: { authentication: 'SCRAM-SHA-256', type: 'azureeventhub', credentials: eventHub },
    send: { credentials: { connectionString: 'Endpoint=hush-new' } },
    authentication: 'SCRAM-SHA-256',
    credentials: { connectionString: 'Endpoint=hush-new' },
  },
  {
    title: 'a connection string alone switches Event Hubs from a role to PLAIN',
    start: { ...byRole, type: 'azureeventhub' },
    send: { credentials: eventHub },
    authentication: 'PLAIN',
    iamRole: role,
    credentials: eventHub,
  },
  {
    title: 'a connection string is of no use to another Kafka: it is kept and switches nothing',
    start: byRole,
    send: { credentials: eventHub },
    ...byRole,
    credentials: eventHub,
  },
  {
    title: 'an access key alone switches from a login, which is kept',
    start: plain,
    send: { credentials: userKey },
    authentication: 'IAM_USER',
    iamRole: role,
    credentials: { ...login, ...userKey },
  },
  {
    title: 'an access key alone switches from a role',
    start: byRole,
    send: { credentials: userKey },
    authentication: 'IAM_USER',
    iamRole: role,
    credentials: userKey,
  },
  {
    title: 'a new secret keeps the id of the access key',
    start: byUser,
    send: { credentials: { secretKey: newUserKey.secretKey } },
    authentication: 'IAM_USER',
    credentials: { ...userKey, secretKey: newUserKey.secretKey },
  },
  {
    title: 'a client certificate alone switches from a login',
    start: scram,
    send: { credentials: newCertificate },
    authentication: 'MUTUAL_TLS',
    credentials: { ...login, ...newCertificate },
  },
  {
    title: 'another client certificate switches nothing',
    start: byCertificate,
    send: { credentials: newCertificate },
    authentication: 'MUTUAL_TLS',
    credentials: newCertificate,
  },
  {
    title: 'login and access key together switch nothing, and both are kept',
    start: byRole,
    send: { credentials: { ...newLogin, ...newUserKey } },
    ...byRole,
    credentials: { ...newLogin, ...newUserKey },
  },
  {
    title: 'access key and client certificate together switch nothing, and both are kept',
    start: scram,
    send: { credentials: { ...newUserKey, ...newCertificate } },
    authentication: 'SCRAM-SHA-512',
    credentials: { ...login, ...newUserKey, ...newCertificate },
  },
  {
    title: 'access key and role together switch nothing, and both are kept',
    start: plain,
    send: { iamRole: otherRole, credentials: newUserKey },
    authentication: 'PLAIN',
    iamRole: otherRole,
    credentials: { ...login, ...newUserKey },
  },
  {
    title: 'authentication decides for the access key that comes with it',
    start: plain,
    send: { authentication: 'IAM_USER', credentials: { ...newUserKey, ...newLogin } },
    authentication: 'IAM_USER',
    iamRole: role,
    credentials: { ...newUserKey, ...newLogin },
  },
]

export const missing: [title: string, start: Start, send: Record<string, unknown>, field: string][] = [
  ['a role', scram, { authentication: 'IAM_ROLE' }, 'iamRole'],
  ['the role in use', byRole, { iamRole: null }, 'iamRole'],
  ['an access key', plain, { authentication: 'IAM_USER' }, 'credentials'],
  ['a client certificate', plain, { authentication: 'MUTUAL_TLS' }, 'credentials'],
  ['a login', byRole, { authentication: 'SCRAM-SHA-256' }, 'credentials'],
  ['the login in use', plain, { credentials: null }, 'credentials'],
  ['the access key in use', byUser, { credentials: null }, 'credentials'],
  ['the secret of an access key', plain, { credentials: { accessKeyId: 'hush-key-id' } }, 'credentials'],
  [
    'the key of a client certificate',
    plain,
    { credentials: { certificate: pem('CERTIFICATE', 'hush') } },
    'credentials',
  ],
  ['a user name', byRole, { credentials: { password: 'hush-password' } }, 'credentials'],
  ['a password', byRole, { credentials: { username: 'hush-user' } }, 'credentials'],
  ['a user name beside an access key', byUser, { credentials: { password: 'hush-password' } }, 'credentials'],
  ['a login on a certificate', byCertificate, { authentication: 'PLAIN' }, 'credentials'],
]
