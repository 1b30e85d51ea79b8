// Ways to break Penstock on purpose, each of which must turn its tests red: a test that stays green proves nothing.
// The product has no switch for this; test/mutate.ts rewrites the source as it is loaded.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

export interface Mutant {
  name: string
  /** Relative to the project. */
  file: string
  /** Must be in the file exactly once. */
  find: string
  replace: string
  /** The test files that must fail, each of them. */
  tests: string[]
}

export const mutants: Mutant[] = [
  {
    name: 'no-org-lock',
    file: 'src/organizations/store.ts',
    find: "if (sql.dialect === 'postgres') await sql.first(lockStatement, { id })",
    replace: '  void [sql, lockStatement, id]',
    tests: ['test/last-admin.test.ts'],
  },
  {
    name: 'statements-outside-transaction',
    file: 'src/database/postgres.ts',
    find: 'const client = this.#transaction ? this.#inTransaction() : (this.#client ?? (await this.connect()))',
    replace: 'const client = this.#client ?? (await this.connect())',
    tests: ['src/database/postgres.test.ts'],
  },
  {
    name: 'last-admin-unchecked',
    file: 'src/members/update-member.ts',
    find: "if (role === 'admin' && (await hasOneAdmin(sql, organizationId))) {",
    replace: "if (role === 'admin' && organizationId === '') {",
    tests: ['test/last-admin.test.ts'],
  },
  {
    name: 'no-idempotency',
    file: 'src/idempotency/store.ts',
    find: '  return sql.first(findStatement, key)',
    replace: '  return undefined',
    tests: ['test/idempotency.test.ts', 'test/model.test.ts'],
  },
  {
    name: 'idempotency-for-two-days',
    file: 'src/idempotency/store.ts',
    find: 'const keptHours = 24',
    replace: 'const keptHours = 48',
    tests: ['test/idempotency.test.ts'],
  },
  {
    name: 'skip-authorization',
    file: 'src/http/server.ts',
    find: "if (operation.access === 'admin' && key.role !== 'admin') {",
    replace: "if (operation.access === 'admin' && key.role === undefined) {",
    tests: ['test/permissions.test.ts'],
  },
  {
    name: 'tenant-leak',
    file: 'src/http/server.ts',
    find: 'if (state.params.organizationId !== undefined && state.params.organizationId !== key.organizationId) {',
    replace: "if (state.params.organizationId === '') {",
    tests: ['test/permissions.test.ts'],
  },
  {
    name: 'tenant-leak-service',
    file: 'src/services/store.ts',
    find: 'WHERE id = :serviceId AND organization_id = :organizationId',
    replace: 'WHERE id = :serviceId',
    tests: ['test/permissions.test.ts'],
  },
  {
    name: 'tenant-leak-pipe',
    file: 'src/pipes/store.ts',
    find: 'FROM pipes WHERE id = :pipeId AND service_id = :serviceId AND organization_id = :organizationId',
    replace: 'FROM pipes WHERE id = :pipeId AND service_id = :serviceId',
    tests: ['test/permissions.test.ts'],
  },
  {
    name: 'pipe-of-any-service',
    file: 'src/pipes/store.ts',
    find: 'FROM pipes WHERE id = :pipeId AND service_id = :serviceId AND organization_id = :organizationId',
    replace: 'FROM pipes WHERE id = :pipeId AND organization_id = :organizationId',
    tests: ['test/permissions.test.ts'],
  },
  {
    name: 'tenant-leak-member',
    file: 'src/members/store.ts',
    find: 'WHERE members.organization_id = :organizationId AND members.user_id = :userId',
    replace: 'WHERE members.user_id = :userId',
    tests: ['test/permissions.test.ts'],
  },
  {
    name: 'accept-expired-key',
    file: 'src/keys/key.ts',
    find: 'const expired = key?.expireAt != null && key.expireAt <= new Date().toISOString()',
    replace: "const expired = key?.expireAt === ''",
    tests: ['test/permissions.test.ts'],
  },
  {
    name: 'accept-disabled-key',
    file: 'src/keys/key.ts',
    find: "return matches && key?.state === 'enabled' && !expired",
    replace: 'return matches && key !== undefined && !expired',
    tests: ['test/permissions.test.ts'],
  },
  {
    name: 'accept-any-secret',
    file: 'src/keys/key.ts',
    find: 'const matches = timingSafeEqual(Buffer.from(secretHash), Buffer.from(key?.secretHash ?? nobodysHash))',
    replace:
      'const matches = secretHash.length > 0 && timingSafeEqual(Buffer.from(nobodysHash), Buffer.from(nobodysHash))',
    tests: ['test/permissions.test.ts'],
  },
  {
    name: 'any-address',
    file: 'src/http/server.ts',
    find: 'if (!key.addressAllowed) {',
    replace: 'if (key.addressAllowed === undefined) {',
    tests: ['test/permissions.test.ts'],
  },
  {
    name: 'echo-secret',
    file: 'src/lib/shape.ts',
    find: 'const told = secret ? (kindTells ? kind : undefined) : sent',
    replace: 'const told = secret && kindTells && kind === sent ? kind : sent',
    tests: ['test/secrets.test.ts', 'test/input.test.ts'],
  },
  {
    name: 'log-secret',
    file: 'src/http/server.ts',
    find: '        address: plainAddress(request),\n',
    replace: '        address: plainAddress(request),\n        reason: JSON.stringify(request.body ?? null),\n',
    tests: ['test/secrets.test.ts'],
  },
  {
    name: 'secret-in-activity',
    file: 'src/pipes/update-pipe.ts',
    find: "to: 'changed' })",
    replace: 'to: JSON.stringify(body) })',
    tests: ['test/secrets.test.ts'],
  },
  {
    name: 'show-connection-string',
    file: 'src/pipes/object-storage-source.ts',
    find: 'export function maskConnectionString(text: string): string {\n',
    replace: 'export function maskConnectionString(text: string): string {\n  if (text) return text\n',
    tests: ['test/secrets.test.ts', 'test/input.test.ts'],
  },
  {
    name: 'no-aad',
    file: 'src/lib/vault.ts',
    find: 'JSON.stringify([place.organizationId, place.table, place.row, place.field, keyId])',
    replace: 'JSON.stringify([place === undefined, keyId === undefined])',
    tests: ['test/secrets.test.ts'],
  },
  {
    name: 'activity-outside-transaction',
    file: 'src/execute-operation.ts',
    find: 'requestId: request.requestId, now, target, changes })',
    replace: 'requestId: request.requestId, now, target, changes }).catch(() => undefined)',
    tests: ['test/idempotency.test.ts'],
  },
  {
    name: 'no-activity',
    file: 'src/execute-operation.ts',
    find: 'record: (target, changes) => activities.push({ target, changes }),',
    replace: 'record: () => undefined,',
    tests: ['test/idempotency.test.ts', 'test/last-admin.test.ts', 'test/model.test.ts'],
  },
  {
    name: 'no-if-match',
    file: 'src/execute-operation.ts',
    find: "if (!ifMatch || ifMatch.includes('*') || ",
    replace: "if (!ifMatch || version !== '' || ",
    tests: ['test/model.test.ts', 'test/input.test.ts'],
  },
  {
    name: 'last-key-wins',
    file: 'src/lib/strict-json.ts',
    find: 'if (Object.hasOwn(object, key)) throw',
    replace: "if (key === '') throw",
    tests: ['test/input.test.ts'],
  },
  {
    name: 'ignore-unknown-fields',
    file: 'src/lib/shape.ts',
    find: '} else if (additionalProperties === false && echo === undefined) {',
    replace: '} else if (additionalProperties === undefined && echo === undefined) {',
    tests: ['test/input.test.ts', 'test/model.test.ts'],
  },
]

/** The text of the file with the mutant in it. Throws when the code has moved on and the mutant would not be one. */
export function readMutated(root: string, mutant: Mutant): string {
  const source = readFileSync(join(root, mutant.file), 'utf8')
  const found = source.split(mutant.find).length - 1
  if (found !== 1) throw new Error(`the mutant ${mutant.name} finds its text ${found} times in ${mutant.file}`)
  return source.replace(mutant.find, () => mutant.replace)
}
