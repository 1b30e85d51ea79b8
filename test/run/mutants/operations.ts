// Defects of operations: the organization lock, idempotency, If-Match, the last admin, keys.
import type { Mutant } from './mutant.ts'

export const operationMutants: Mutant[] = [
  {
    name: 'no-org-lock',
    everyCommit: true,
    file: 'src/organizations/store.ts',
    find: 'WHERE id = :id FOR UPDATE',
    replace: 'WHERE id = :id',
    tests: ['test/suites/last-admin.test.ts'],
  },
  {
    name: 'last-admin-unchecked',
    file: 'src/members/update-member.ts',
    find: '    await keepAnAdmin(sql, organizationId, stored.member)\n',
    replace: '    void keepAnAdmin\n',
    tests: ['test/suites/last-admin.test.ts'],
  },
  {
    name: 'no-idempotency',
    everyCommit: true,
    file: 'src/idempotency/store.ts',
    find: '  return sql.first(findStatement, key)',
    replace: '  return undefined',
    tests: ['test/suites/idempotency.test.ts', 'test/models/model.test.ts'],
  },
  {
    name: 'idempotency-for-two-days',
    file: 'src/idempotency/store.ts',
    find: 'const keptHours = 24',
    replace: 'const keptHours = 48',
    tests: ['test/suites/idempotency.test.ts'],
  },
  {
    name: 'no-if-match',
    file: 'src/execution/execute-operation.ts',
    find: "if (!ifMatch || ifMatch.includes('*') || ",
    replace: "if (!ifMatch || version !== '' || ",
    tests: ['test/models/model.test.ts', 'test/suites/input.test.ts'],
  },
  {
    name: 'last-admin-deleted',
    file: 'src/members/delete-member.ts',
    find: '    await keepAnAdmin(sql, organizationId, stored.member)\n',
    replace: '    void keepAnAdmin\n',
    tests: ['test/suites/last-admin.test.ts', 'src/members/delete-member.test.ts'],
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
]
