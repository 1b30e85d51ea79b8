// Defects of durability: an acknowledged write survives crashes, full disks, backups and restarts.
import type { Mutant } from './mutant.ts'

export const durabilityMutants: Mutant[] = [
  {
    name: 'deleted-data-is-written-to',
    file: 'src/lib/watch-for-deletion.ts',
    find: 'if (kept.every(Boolean) || !isWatching) return',
    replace: 'if (kept.some(() => true) || !isWatching) return',
    tests: ['test/suites/deleted-data.test.ts'],
  },
  {
    name: 'statements-outside-transaction',
    file: 'src/database/postgres.ts',
    find: 'const client = this.#transaction ? this.#inTransaction() : (this.#client ?? (await this.connect()))',
    replace: 'const client = this.#client ?? (await this.connect())',
    tests: ['src/database/postgres.test.ts'],
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
    name: 'sync-normal',
    file: 'src/database/sqlite.ts',
    find: "this.#require('synchronous', 'FULL', 2)",
    replace: "this.#require('synchronous', 'NORMAL', 1)",
    tests: ['test/real/power.test.ts'],
  },
  {
    name: 'failed-sync-goes-on',
    file: 'src/database/sqlite.ts',
    find: "code === SQLITE_IOERR_DIR_FSYNC) return 'fatal'",
    replace: "code === SQLITE_IOERR_DIR_FSYNC) return 'unavailable'",
    tests: ['test/real/disk.test.ts'],
  },
  {
    name: 'failed-checkpoint-goes-on',
    file: 'src/database/sqlite-writer.ts',
    find: `      if (verdict === 'fatal') groups.stop(new Error('a checkpoint could not be synced'))
      send({ checkpointFailed: error, fatal: verdict === 'fatal' })`,
    replace: `      send({ checkpointFailed: error, fatal: String(verdict) === '' })`,
    tests: ['test/real/disk.test.ts'],
  },
  {
    name: 'failed-sync-of-checkpoint-goes-on',
    file: 'src/database/sqlite-checkpoint.ts',
    find: "return { verdict: 'fatal', error: describeError(error) }",
    replace: "return { verdict: 'unavailable', error: describeError(error) }",
    tests: ['test/real/disk.test.ts'],
  },
  {
    name: 'writer-syncs-checkpoint',
    file: 'src/database/sqlite-checkpoint.ts',
    find: '      fsyncSync(descriptor)\n',
    replace: '',
    tests: ['test/real/timed/disk.test.ts'],
  },
  {
    name: 'backup-of-many-moments',
    file: 'src/database/snapshot.ts',
    find: "await ask('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')",
    replace: "await ask('BEGIN READ ONLY')",
    tests: ['src/database/snapshot.test.ts'],
  },
  {
    name: 'restored-pipes-run',
    file: 'src/installation/backup/store.ts',
    find: "WHEN kind = 'postgres' THEN 'Paused' ELSE 'Stopped' END",
    replace: 'ELSE state END',
    tests: ['src/installation/backup/backup.test.ts'],
  },
  {
    name: 'hangs-up-on-clients-at-rest',
    file: 'src/http/drain.ts',
    find: 'Server.prototype.close.call(http)',
    replace: 'http.close()\n    void Server',
    tests: ['test/heavy/shutdown.test.ts'],
  },
]
