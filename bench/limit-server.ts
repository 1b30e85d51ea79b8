// The limit of this machine: bare node:http in one thread with hand-written SQL. It checks the key, writes the same rows with the
// same durability and gives the same answers as Penstock, without router, validation, savepoints, log or metrics. Requests
// that arrive together share one commit. Arguments: the data folder and the port.
import { hash, randomUUID, timingSafeEqual } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { join } from 'node:path'
import { SqliteConnection } from '../src/database/sqlite.ts'
import { migrateSqlite } from '../src/database/sqlite-writer.ts'
import { newTimeOrderedId } from '../src/lib/id.ts'
import { defaultSettings } from '../src/pipes/settings.ts'

interface KeyRow {
  id: string
  organization_id: string
  secret_hash: string
  role: string
  state: string
  expire_at: string | null
  ip_access_list: string
}

interface MemberRow {
  name: string
  email: string
  role: string
  joined_at: string
  version: number
  user_version: number
}

interface PipeRow {
  name: string
  kind: string
  state: string
  source: string
  destination: string
  field_mappings: string
  scaling: string
  settings: string
  created_at: string
  updated_at: string
  version: number
}

interface Work {
  request: IncomingMessage
  response: ServerResponse
  requestId: string
  path: string[]
  actorId: string
  body: string
}

interface Answer {
  result: string
  etag?: string
}

const [folder, port] = process.argv.slice(2) as [string, string]
const { pepper: storedPepper } = JSON.parse(readFileSync(join(folder, 'master-keys.json'), 'utf8')) as {
  pepper: string
}
const pepper = Buffer.from(storedPepper, 'base64').toString('hex')
const connection = new SqliteConnection(join(folder, 'penstock.db'), { readOnly: false })
await migrateSqlite(connection)
const { database } = connection
// Built-in checkpoints of SQLite, in the only thread.
database.exec('PRAGMA wal_autocheckpoint = 8000')

const begin = database.prepare('BEGIN IMMEDIATE')
const commit = database.prepare('COMMIT')
const findKey = database.prepare(
  'SELECT id, organization_id, secret_hash, role, state, expire_at, ip_access_list FROM api_keys WHERE key_id = ?',
)
const findMember = database.prepare(
  `SELECT users.name, users.email, members.role, members.joined_at, members.version, users.version AS user_version
   FROM members JOIN users ON users.id = members.user_id WHERE members.organization_id = ? AND members.user_id = ?`,
)
const findAdminCount = database.prepare('SELECT admin_count FROM organizations WHERE id = ?')
const countAdmins = database.prepare('UPDATE organizations SET admin_count = admin_count + ? WHERE id = ?')
const updateMember = database.prepare(
  'UPDATE members SET role = ?, version = version + 1 WHERE organization_id = ? AND user_id = ?',
)
const insertActivity = database.prepare(
  `INSERT INTO activities
     (organization_id, id, type, created_at, actor_id, address, user_agent, request_id, target, changes)
   VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
)
const findService = database.prepare('SELECT provider, region FROM services WHERE id = ? AND organization_id = ?')
const insertEndpoint = database.prepare(
  'INSERT INTO private_endpoints (organization_id, id, description, created_at) VALUES (?, ?, ?, ?)',
)
const attachEndpoint = database.prepare(
  'INSERT INTO service_private_endpoints (service_id, organization_id, endpoint_id, attached_at) VALUES (?, ?, ?, ?)',
)
const findPipe = database.prepare(
  `SELECT name, kind, state, source, destination, field_mappings, scaling, settings, created_at, updated_at, version
   FROM pipes WHERE id = ? AND service_id = ? AND organization_id = ?`,
)
const updatePipe = database.prepare(
  'UPDATE pipes SET name = ?, settings = ?, updated_at = ?, version = version + 1 WHERE id = ?',
)

let waiting: Work[] = []

const server = createServer((request, response) => {
  // /v1/organizations/{}/members/{} or /v1/organizations/{}/services/{}/pipes/{}
  const path = request.url!.split('/')
  const actorId = authenticate(request.headers.authorization, path[3]!)
  if (!actorId) return refuse(response)
  const requestId = randomUUID()
  if (request.method === 'GET') return send(response, requestId, readPipe(path))
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => {
    const body = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)
    if (waiting.push({ request, response, requestId, path, actorId, body: body.toString() }) === 1)
      setImmediate(commitTogether)
  })
})
server.listen(Number(port), '127.0.0.1')
process.on('SIGTERM', () => {
  server.closeAllConnections()
  connection.close()
  process.exit(0)
})

function commitTogether(): void {
  const group = waiting
  waiting = []
  const now = new Date().toISOString()
  begin.run()
  const answers = group.map((work) => run(work, now))
  commit.run()
  for (const [index, { response, requestId }] of group.entries()) send(response, requestId, answers[index]!)
}

function run(work: Work, now: string): Answer {
  if (work.path[4] === 'members') return patchMember(work, now)
  return work.request.method === 'POST' ? createEndpoint(work, now) : patchPipe(work, now)
}

function authenticate(header: string | undefined, organizationId: string): string | undefined {
  if (!header?.startsWith('Basic ')) return undefined
  const text = Buffer.from(header.slice(6), 'base64').toString()
  const colon = text.indexOf(':')
  const key = findKey.get(text.slice(0, colon)) as unknown as KeyRow | undefined
  if (!key) return undefined
  const given = hash('sha256', `${pepper}api-key\u0000${text.slice(colon + 1)}`, 'hex')
  if (!timingSafeEqual(Buffer.from(given), Buffer.from(key.secret_hash))) return undefined
  if (key.state !== 'enabled' || key.expire_at !== null || key.ip_access_list !== '[]') return undefined
  if (key.organization_id !== organizationId || key.role !== 'admin') return undefined
  return key.id
}

function patchMember(work: Work, now: string): Answer {
  const [, , , organizationId, , userId] = work.path as [string, string, string, string, string, string]
  const { role } = JSON.parse(work.body) as { role: string }
  const member = findMember.get(organizationId, userId) as unknown as MemberRow
  const from = member.role
  let version = member.version
  if (role !== from) {
    if (from === 'admin' && findAdminCount.get(organizationId)!.admin_count === 1) throw new Error('the last admin')
    updateMember.run(role, organizationId, userId)
    countAdmins.run(role === 'admin' ? 1 : -1, organizationId)
    version++
    record(work, now, 'member_role_changed', `{"type":"member","id":"${userId}"}`, [{ field: 'role', from, to: role }])
  }
  const result = { userId, name: member.name, email: member.email, role, joinedAt: member.joined_at }
  return { result: JSON.stringify(result), etag: `${version}.${member.user_version}` }
}

function createEndpoint(work: Work, now: string): Answer {
  const [, , , organizationId, , serviceId] = work.path as [string, string, string, string, string, string]
  const { id, description } = JSON.parse(work.body) as { id: string; description: string }
  const service = findService.get(serviceId, organizationId) as { provider: string; region: string }
  insertEndpoint.run(organizationId, id, description, now)
  attachEndpoint.run(serviceId, organizationId, id, now)
  const target = JSON.stringify({ type: 'private_endpoint', id, serviceId })
  record(work, now, 'private_endpoint_created', target, [{ field: 'privateEndpoint', to: { id, description } }])
  return { result: JSON.stringify({ cloudProvider: service.provider, description, id, region: service.region }) }
}

function patchPipe(work: Work, now: string): Answer {
  const [organizationId, serviceId, pipeId] = [work.path[3]!, work.path[5]!, work.path[7]!]
  const patch = JSON.parse(work.body) as { name: string; settings: Record<string, unknown> }
  const pipe = findPipe.get(pipeId, serviceId, organizationId) as unknown as PipeRow
  const before = JSON.parse(pipe.settings) as Record<string, unknown>
  const settings = { ...before, ...patch.settings }
  const changes: object[] = [{ field: 'name', from: pipe.name, to: patch.name }]
  for (const [name, to] of Object.entries(patch.settings)) {
    const from = before[name] ?? defaultSettings[name as keyof typeof defaultSettings]
    if (to !== from) changes.push({ field: `settings.${name}`, from, to })
  }
  updatePipe.run(patch.name, JSON.stringify(settings), now, pipeId)
  record(work, now, 'pipe_updated', JSON.stringify({ type: 'pipe', id: pipeId, serviceId }), changes)
  const updated = { ...pipe, name: patch.name, updated_at: now }
  return { result: pipeText(pipeId, serviceId, updated, settings), etag: String(pipe.version + 1) }
}

function readPipe(path: string[]): Answer {
  const [organizationId, serviceId, pipeId] = [path[3]!, path[5]!, path[7]!]
  const pipe = findPipe.get(pipeId, serviceId, organizationId) as unknown as PipeRow
  return { result: pipeText(pipeId, serviceId, pipe, JSON.parse(pipe.settings)), etag: String(pipe.version) }
}

// Inserts the stored JSON into the answer without parsing it.
function pipeText(id: string, serviceId: string, pipe: PipeRow, settings: object): string {
  return (
    `{"id":"${id}","serviceId":"${serviceId}","name":${JSON.stringify(pipe.name)},"state":"${pipe.state}",` +
    `"createdAt":"${pipe.created_at}","updatedAt":"${pipe.updated_at}","destination":${pipe.destination},` +
    `"fieldMappings":${pipe.field_mappings},"scaling":${pipe.scaling},` +
    `"settings":${JSON.stringify({ ...defaultSettings, ...settings })},"source":{"${pipe.kind}":${pipe.source}}}`
  )
}

function record(work: Work, now: string, type: string, target: string, changes: object[]): void {
  insertActivity.run(
    work.path[3]!,
    newTimeOrderedId(),
    type,
    now,
    work.actorId,
    work.request.socket.remoteAddress!,
    work.request.headers['user-agent'] ?? '',
    work.requestId,
    target,
    JSON.stringify(changes),
  )
}

function send(response: ServerResponse, requestId: string, { result, etag }: Answer): void {
  const body = `{"requestId":"${requestId}","result":${result},"status":200}`
  const headers = [
    ...['x-request-id', requestId, 'content-type', 'application/json', 'cache-control', 'no-store'],
    ...['x-content-type-options', 'nosniff', 'content-length', String(Buffer.byteLength(body))],
  ]
  if (etag) headers.push('etag', `"${etag}"`)
  response.writeHead(200, headers)
  response.end(body)
}

function refuse(response: ServerResponse): void {
  response.writeHead(401)
  response.end()
}
