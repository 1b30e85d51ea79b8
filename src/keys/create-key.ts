import { newId } from '../lib/id.ts'
import { completeIpAccessList, ipAccessProblems } from '../lib/ip-access.ts'
import { type FieldProblem, invalidBody } from '../lib/problem.ts'
import { Type } from '../lib/schema.ts'
import { operation } from '../operation/operation.ts'
import { OrganizationPath } from '../organizations/organization.ts'
import { type Key, KeyCreate, KeyWithSecret, keyExample, keySecretExample, newKey, readExpiry } from './key.ts'
import { insertKey } from './store.ts'

export const createKey = operation({
  id: 'createKey',
  method: 'POST',
  path: '/v1/organizations/{organizationId}/keys',
  tag: 'OpenAPI',
  summary: 'Create API key',
  description:
    'Creates an API key with one role. The secret is returned only in this response; Penstock stores a hash of it. To ' +
    'replace a lost secret, rotate the key.',
  access: 'admin',
  activity: 'key_created',
  params: Type.Object(OrganizationPath),
  body: KeyCreate,
  result: KeyWithSecret,
  problems: [],
  example: {
    summary: 'A read-only key for the build servers',
    body: {
      name: keyExample.name,
      roles: keyExample.roles,
      expireAt: keyExample.expireAt,
      ipAccessList: keyExample.ipAccessList,
    },
    result: { key: keyExample, keyId: keyExample.keyId, keySecret: keySecretExample },
  },
  async run({ sql, vault, now, record }, { params, body }) {
    const { organizationId } = params
    const { name, roles, state = 'enabled' } = body
    const ipAccessList = completeIpAccessList(body.ipAccessList ?? [])
    const problems: FieldProblem[] = ipAccessProblems(ipAccessList, 'ipAccessList')
    const expireAt = readExpiry(body.expireAt ?? null, problems)
    if (expireAt !== null && expireAt <= now) {
      problems.push({
        path: 'expireAt',
        detail: `expireAt must be in the future, not ${JSON.stringify(body.expireAt)}`,
      })
    }
    if (problems.length > 0) throw invalidBody(problems)

    const id = newId()
    const made = newKey(vault)
    const { keyId, keySuffix } = made
    await insertKey(sql, { id, organizationId, key: made, name, role: roles[0]!, state, expireAt, ipAccessList, now })
    record({ type: 'key', id }, [{ field: 'key', to: { keyId, name, roles, state, expireAt, ipAccessList } }])
    const key: Key = {
      id,
      keyId,
      name,
      roles,
      state,
      expireAt,
      ipAccessList,
      createdAt: now,
      usedAt: null,
      keySuffix,
      previousSecretValidUntil: null,
    }
    return { result: { key, keyId, keySecret: made.secret.reveal() } }
  },
})
