// Defects of activities: each change is recorded in its transaction, and the sealed chain shows every later edit.
import type { Mutant } from './mutant.ts'

export const activityMutants: Mutant[] = [
  {
    name: 'activity-outside-transaction',
    everyCommit: true,
    file: 'src/execution/execute-operation.ts',
    find: 'requestId: request.requestId, now, target, changes })',
    replace: 'requestId: request.requestId, now, target, changes }).catch(() => undefined)',
    tests: ['test/suites/idempotency.test.ts'],
  },
  {
    name: 'no-activity',
    file: 'src/execution/execute-operation.ts',
    find: 'record: (target, changes) => activities.push({ target, changes }),',
    replace: 'record: () => undefined,',
    tests: ['test/suites/idempotency.test.ts', 'test/suites/last-admin.test.ts', 'test/models/model.test.ts'],
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
]
