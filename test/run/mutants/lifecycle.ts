// Defects of the lifecycle of services, keys, endpoints and pipes.
import type { Mutant } from './mutant.ts'

export const lifecycleMutants: Mutant[] = [
  {
    name: 'created-against-the-rules',
    file: 'src/pipes/create-pipe.ts',
    find: 'problems.push(...kind.problems(source))',
    replace: 'void kind.problems(source)',
    tests: ['src/pipes/create-pipe.test.ts', 'src/pipes/create-pipe-sources.test.ts'],
  },
  {
    name: 'stop-stops-twice',
    file: 'src/progress/pipe-state.ts',
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
    tests: ['test/models/lifecycle.test.ts'],
  },
  {
    name: 'keys-in-any-order',
    file: 'src/keys/store.ts',
    find: 'ORDER BY created_at DESC, id DESC LIMIT :rows',
    replace: 'ORDER BY id DESC LIMIT :rows',
    tests: ['test/models/lifecycle.test.ts'],
  },
  {
    name: 'rotated-secret-stays',
    file: 'src/keys/store.ts',
    find: 'previous_secret_hash = NULL, previous_valid_until = NULL',
    replace: "previous_secret_hash = secret_hash, previous_valid_until = '9999-12-31T00:00:00.000Z'",
    tests: ['test/models/lifecycle.test.ts'],
  },
  {
    name: 'service-deleted-with-its-pipes',
    file: 'src/services/delete-service.ts',
    find: 'if (pipes > 0) {',
    replace: 'if (pipes < 0) {',
    tests: ['test/models/lifecycle.test.ts'],
  },
  {
    name: 'attached-without-a-version',
    file: 'src/services/service.ts',
    find: "[count, ...newestIds].join('\\n')",
    replace: "[count < 0, newestIds.length < 0].join('\\n')",
    tests: ['test/models/lifecycle.test.ts'],
  },
  {
    name: 'expired-keys-count-as-enabled',
    file: 'src/prometheus/store.ts',
    find: "state = 'enabled' AND expire_at <= :now",
    replace: "state = 'enabled' AND expire_at < '' AND :now = ''",
    tests: ['test/models/lifecycle.test.ts'],
  },
  {
    name: 'replay-recorded-again',
    file: 'src/pipes/replay-pipe-errors.ts',
    find: 'if (isNewRequest) record(',
    replace: 'record(',
    tests: ['src/pipes/replay-pipe-errors.test.ts', 'test/models/lifecycle.test.ts'],
  },
]
