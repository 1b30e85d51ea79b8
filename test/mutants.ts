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
    find: 'WHERE id = :id FOR UPDATE',
    replace: 'WHERE id = :id',
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
    find: '    await keepAnAdmin(sql, organizationId, stored.member)\n',
    replace: '    void keepAnAdmin\n',
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
    file: 'src/http/operation.ts',
    find: "if (access === 'developer' || role === 'admin') return",
    replace: "if (access === 'developer' || role !== undefined) return",
    tests: ['test/permissions.test.ts'],
  },
  {
    name: 'authorized-only-once',
    file: 'src/execute-operation.ts',
    find: 'if (!standing || !stillStands(standing, now)) throw unauthorized()\n  requireRole(operation, standing.role)',
    replace: 'void [standing, stillStands, unauthorized, requireRole]',
    tests: ['test/revocation.test.ts'],
  },
  {
    name: 'pages-of-any-size',
    file: 'src/lib/page.ts',
    find: 'const mostBytes = 4 * 1_048_576',
    replace: 'const mostBytes = 4_000 * 1_048_576',
    tests: ['test/large-pages.test.ts'],
  },
  {
    name: 'dead-checkpoint-thread',
    file: 'src/database/sqlite-checkpoint.ts',
    find: '      this.#thread = undefined\n',
    replace: '',
    tests: ['src/database/sqlite-checkpoint.test.ts'],
  },
  {
    name: 'no-checkpoint',
    file: 'src/database/sqlite-checkpoint.ts',
    find: 'if (size <= walLimitBytes) return',
    replace: 'if (size >= 0) return',
    tests: ['src/database/sqlite-checkpoint.test.ts'],
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
    find: 'const expired = key?.expireAt != null && key.expireAt <= now',
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
    find: 'const isCurrent = timingSafeEqual(sent, Buffer.from(key?.secretHash ?? nobodysHash))',
    replace: 'const isCurrent = timingSafeEqual(Buffer.from(nobodysHash), Buffer.from(nobodysHash))',
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
    tests: ['test/canary.test.ts', 'test/input.test.ts'],
  },
  {
    name: 'log-secret',
    file: 'src/http/server.ts',
    find: '        address: plainAddress(request),\n',
    replace: '        address: plainAddress(request),\n        reason: JSON.stringify(request.body ?? null),\n',
    tests: ['test/canary.test.ts'],
  },
  {
    name: 'secret-in-activity',
    file: 'src/pipes/update-pipe.ts',
    find: "to: 'changed' })",
    replace: 'to: JSON.stringify(body) })',
    tests: ['test/canary.test.ts'],
  },
  {
    name: 'show-connection-string',
    file: 'src/pipes/object-storage-source.ts',
    find: 'export function maskConnectionString(text: string): string {\n',
    replace: 'export function maskConnectionString(text: string): string {\n  if (text) return text\n',
    tests: ['test/canary.test.ts', 'test/input.test.ts'],
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
  {
    name: 'last-admin-deleted',
    file: 'src/members/delete-member.ts',
    find: '    await keepAnAdmin(sql, organizationId, stored.member)\n',
    replace: '    void keepAnAdmin\n',
    tests: ['test/last-admin.test.ts', 'src/members/delete-member.test.ts'],
  },
  {
    name: 'previous-secret-for-ever',
    file: 'src/keys/key.ts',
    find: 'const previousIsValid = key?.previousValidUntil != null && now < key.previousValidUntil',
    replace: 'const previousIsValid = key?.previousValidUntil != null',
    tests: ['src/keys/rotate-key.test.ts'],
  },
  {
    name: 'no-previous-secret',
    file: 'src/keys/key.ts',
    find: 'const matches = isCurrent || (isPrevious && previousIsValid)',
    replace: 'const matches = isCurrent || (isPrevious && !isPrevious && previousIsValid)',
    tests: ['src/keys/rotate-key.test.ts'],
  },
  {
    name: 'key-demotes-itself',
    file: 'src/keys/update-key.ts',
    find: "if (changed.has('roles') && !key.roles.includes('admin'))",
    replace: "if (changed.has('roles') && key.roles.length === 0)",
    tests: ['src/keys/update-key.test.ts'],
  },
  {
    name: 'key-deletes-itself',
    file: 'src/keys/delete-key.ts',
    find: 'if (id === caller.id) throw',
    replace: "if (id === '' && caller) throw",
    tests: ['src/keys/delete-key.test.ts'],
  },
  {
    name: 'tenant-leak-key',
    file: 'src/keys/store.ts',
    find: '} WHERE id = :id AND organization_id = :organizationId',
    replace: '} WHERE id = :id',
    tests: ['test/permissions.test.ts', 'src/keys/get-key.test.ts'],
  },
  {
    name: 'stored-invitation-token',
    file: 'src/invitations/invitation.ts',
    find: "tokenHash: vault.fingerprint('invitation', token) }",
    replace: "tokenHash: vault ? token : '' }",
    tests: ['src/invitations/create-invitation.test.ts'],
  },
  {
    name: 'no-egress-check',
    file: 'src/lib/egress.ts',
    find: "    if (denial) throw new EgressError('denied', denial)\n",
    replace: '    void denial\n',
    tests: ['src/lib/egress.test.ts'],
  },
  {
    name: 'resolve-twice',
    file: 'src/lib/egress.ts',
    find: 'return await openSocket(address, port,',
    replace: 'return await openSocket((await this.#addressesOf(host))[index] ?? address, port,',
    tests: ['src/lib/egress.test.ts'],
  },
  {
    name: 'activity-before-seal',
    file: 'src/activities/store.ts',
    find: 'newTimeOrderedId(nowMs > sealedMs ? nowMs : sealedMs + 1)',
    replace: 'newTimeOrderedId(sealedMs < 0 ? 0 : nowMs)',
    tests: ['src/activities/seal.test.ts', 'src/activities/sealer.test.ts'],
  },
  {
    name: 'seals-unknown-at-start',
    file: 'src/organizations/store.ts',
    find: 'newestSealedMs ??= timeOfId((await sql.first(newestSealedStatement, {}))?.newest ?? ',
    replace: 'newestSealedMs ??= timeOfId(newestSealedStatement ? "" : ',
    tests: ['src/activities/sealer.test.ts'],
  },
  {
    name: 'seals-without-a-chain',
    file: 'src/activities/seal.ts',
    find: 'number, previousHash, lastActivityId, digests, sealedAt])',
    replace: 'number, previousHash.slice(64), lastActivityId, digests, sealedAt])',
    tests: ['src/activities/seal.test.ts'],
  },
  {
    name: 'sealed-again-from-the-mark',
    file: 'src/activities/seal.ts',
    find: "const after = previous?.lastActivityId ?? ''",
    replace: "const after = (await findSealedUpTo(sql, organizationId)) ?? ''",
    tests: ['src/activities/seal.test.ts'],
  },
  {
    name: 'created-secrets-unsealed',
    file: 'src/pipes/create-pipe.ts',
    find: 'sealedSecrets: sealSecrets(vault, { id, organizationId }, source.secrets),',
    replace: 'sealedSecrets: vault && JSON.stringify(source.secrets),',
    tests: ['src/pipes/create-pipe.test.ts', 'src/pipes/create-pipe-sources.test.ts'],
  },
  {
    name: 'created-against-the-rules',
    file: 'src/pipes/create-pipe.ts',
    find: 'problems.push(...kind.problems(source))',
    replace: 'void kind.problems(source)',
    tests: ['src/pipes/create-pipe.test.ts', 'src/pipes/create-pipe-sources.test.ts'],
  },
  {
    name: 'stop-stops-twice',
    file: 'src/pipes/pipe-state.ts',
    find: "const rests: Row = { start: 'Provisioning', stop: 'unchanged',",
    replace: "const rests: Row = { start: 'Provisioning', stop: 'onTheWay',",
    tests: ['src/pipes/update-pipe-state.test.ts'],
  },
  {
    name: 'commands-without-a-version',
    file: 'src/pipes/change-pipe.ts',
    find: 'version: pipe.version + 1,',
    replace: 'version: pipe.version,',
    tests: ['src/pipes/update-pipe-state.test.ts', 'src/pipes/update-pipe-parts.test.ts'],
  },
  {
    name: 'detached-endpoint-stays',
    file: 'src/private-endpoints/store.ts',
    find: '  await sql.run(forgetUnusedStatement, { organizationId, id })\n',
    replace: '  void forgetUnusedStatement\n  void organizationId\n  void id\n',
    tests: ['test/lifecycle.test.ts'],
  },
  {
    name: 'keys-in-any-order',
    file: 'src/keys/store.ts',
    find: 'ORDER BY created_at DESC, id DESC LIMIT :rows',
    replace: 'ORDER BY id DESC LIMIT :rows',
    tests: ['test/lifecycle.test.ts'],
  },
  {
    name: 'rotated-secret-stays',
    file: 'src/keys/store.ts',
    find: 'previous_secret_hash = NULL, previous_valid_until = NULL',
    replace: "previous_secret_hash = secret_hash, previous_valid_until = '9999-12-31T00:00:00.000Z'",
    tests: ['test/lifecycle.test.ts'],
  },
  {
    name: 'service-deleted-with-its-pipes',
    file: 'src/services/delete-service.ts',
    find: 'if (pipes > 0) {',
    replace: 'if (pipes < 0) {',
    tests: ['test/lifecycle.test.ts'],
  },
  {
    name: 'attached-without-a-version',
    file: 'src/services/service.ts',
    find: "[count, ...newestIds].join('\\n')",
    replace: "[count < 0, newestIds.length < 0].join('\\n')",
    tests: ['test/lifecycle.test.ts'],
  },
  {
    name: 'expired-keys-count-as-enabled',
    file: 'src/prometheus/store.ts',
    find: "state = 'enabled' AND expire_at <= :now",
    replace: "state = 'enabled' AND expire_at < '' AND :now = ''",
    tests: ['test/lifecycle.test.ts'],
  },
  {
    name: 'password-in-activity',
    file: 'src/services/create-service.ts',
    find: "{ field: 'endpoint.password', to: 'changed' },",
    replace: "{ field: 'endpoint.password', to: body.endpoint.password },",
    tests: ['test/canary.test.ts'],
  },
  {
    name: 'url-with-password-quoted',
    file: 'src/lib/shape-rules.ts',
    find: "value.replace(/\\/\\/.*@/s, '//***@')",
    replace: 'value',
    tests: ['test/canary.test.ts'],
  },
]

/** The text of the file with the mutant in it. Throws when the code has moved on and the mutant would not be one. */
export function readMutated(root: string, mutant: Mutant): string {
  const source = readFileSync(join(root, mutant.file), 'utf8')
  const found = source.split(mutant.find).length - 1
  if (found !== 1) throw new Error(`the mutant ${mutant.name} finds its text ${found} times in ${mutant.file}`)
  return source.replace(mutant.find, () => mutant.replace)
}
