// Defects of delivery: no row lost, none written twice. Runner, ClickHouse inserts, progress and leases.
import type { Mutant } from './mutant.ts'

export const deliveryMutants: Mutant[] = [
  {
    name: 'lease-of-a-clock-ahead-is-taken',
    file: 'src/runner/dead-runners.ts',
    find: 'known?.seenAt === runner.seenAt ? known.sinceMs',
    replace: 'known ? known.sinceMs',
    tests: ['src/runner/dead-runners.test.ts', 'src/runner/runner-leases.test.ts'],
  },
  {
    name: 'lease-ahead-outlives-its-runner',
    file: 'src/runner/runner.ts',
    find: "if (await write('endDeadRunner',",
    replace: "if (now === '' && await write('endDeadRunner',",
    tests: ['src/runner/runner-leases.test.ts'],
  },
  {
    name: 'skipped-rows-are-believed',
    file: 'src/runner/skipped-rows.ts',
    find: 'if (reason === undefined) return undefined',
    replace: 'if (reason === undefined) continue',
    tests: ['src/runner/skipped-rows.test.ts'],
  },
  {
    name: 'last-error-outlives-its-cause',
    file: 'src/progress/workers/store.ts',
    find: 'if (held.reason !== null && reason === null)',
    replace: 'if (held.reason !== null && reason !== null)',
    tests: ['src/progress/settled-state.test.ts'],
  },
  {
    name: 'change-that-was-taken-back',
    file: 'src/runner/leased-worker.ts',
    find: 'prepared?.configuration.digest === this.#desired.digest ? prepared : undefined',
    replace: 'prepared',
    tests: ['src/runner/runner-reconfiguration.test.ts', 'src/runner/leased-worker.test.ts'],
  },
  {
    name: 'sends-out-of-turn',
    file: 'src/engine/send-rows.ts',
    find: '  await insert.mayBegin?.(signal)\n',
    replace: '',
    tests: ['src/engine/sink-tables.test.ts'],
  },
  {
    name: 'as-many-inserts-as-deliveries',
    file: 'src/runner/dispatch.ts',
    find: 'makeSendOrder(inserts)',
    replace: 'makeSendOrder(inserts + ahead)',
    tests: ['src/runner/settings.test.ts'],
  },
  {
    name: 'losses-not-kept',
    file: 'src/progress/settled-state.ts',
    find: 'return pipe.lossReason === null',
    replace: 'return pipe.lossReason !== undefined',
    tests: ['src/progress/settled-state.test.ts'],
  },
  {
    name: 'ended-workers-shown',
    file: 'src/progress/metrics/store.ts',
    find: ' AND workers.expires_at > :now',
    replace: " AND :now <> ''",
    tests: ['src/pipes/get-pipe-metrics.test.ts'],
  },
  {
    name: 'checkpoint-after',
    everyCommit: true,
    file: 'src/runner/dispatch.ts',
    find: '        await begun\n',
    replace: '        begun.catch(() => undefined)\n',
    tests: ['src/runner/exactly-once.test.ts'],
  },
  {
    name: 'no-until',
    file: 'src/runner/stream-worker.ts',
    find: 'await withReader(session, from, { until }, async (reader) => {',
    replace: 'await withReader(session, from, until ? {} : {}, async (reader) => {',
    tests: ['src/runner/exactly-once.test.ts'],
  },
  {
    name: 'refused-not-recorded',
    file: 'src/runner/deliver-batch.ts',
    find: '    await store.reject(id, rejected)\n',
    replace: '    void store\n',
    tests: ['src/runner/exactly-once.test.ts'],
  },
  {
    name: 'no-epoch-check',
    file: 'src/progress/store.ts',
    find: "'SELECT slots, reason FROM pipe_workers WHERE pipe_id = :pipeId AND slot = :slot AND epoch = :epoch'",
    replace:
      "'SELECT slots, reason FROM pipe_workers WHERE pipe_id = :pipeId AND slot = :slot AND epoch <= :epoch + 1000'",
    tests: ['src/progress/store.test.ts', 'src/runner/runner-leases.test.ts'],
  },
  {
    name: 'plain-insert-body',
    everyCommit: true,
    file: 'src/engine/compressed.ts',
    find: `export const contentEncoding = 'gzip'

function encoded(plain: AsyncIterable<Uint8Array>, packing: Packing): PackedBody {
  return packing === 'stored' ? storeInGzip(plain) : makeSmaller(plain)
}`,
    replace: `export const contentEncoding = 'identity'

async function* encoded(plain: AsyncIterable<Uint8Array>, packing: Packing): PackedBody {
  void [storeInGzip, makeSmaller, packing]
  for await (const chunk of plain) yield [chunk]
}`,
    tests: ['src/engine/client.test.ts'],
  },
  {
    name: 'no-token',
    file: 'src/engine/token-insert.ts',
    find: '{ insert_deduplication_token: insert.token }',
    replace: '{ insert_deduplication_token: crypto.randomUUID() }',
    tests: ['src/engine/sink.test.ts', 'src/runner/end-to-end.test.ts'],
  },
  {
    name: 'token-is-believed',
    file: 'src/engine/token-insert.ts',
    find: 'insert.isRepeat && parts.areTokensFirst &&',
    replace: 'insert.isRepeat && parts.areTokensFirst === undefined &&',
    tests: ['src/engine/token-insert.test.ts', 'src/runner/end-to-end.test.ts', 'test/real/engine-tokens.test.ts'],
  },
  {
    name: 'second-token-is-another-each-time',
    file: 'src/engine/token-insert.ts',
    find: 'number}`,',
    replace: 'attempt}`,',
    tests: ['src/engine/token-insert.test.ts'],
  },
  {
    name: 'one-row-tells-of-a-batch',
    file: 'src/engine/lost-rows.ts',
    find: 'return 2 * samples.filter',
    replace: 'return samples.length * samples.filter',
    tests: ['src/engine/token-insert.test.ts'],
  },
  {
    name: 'made-good-in-every-partition',
    file: 'src/engine/lost-rows.ts',
    find: '.filter(([, some]) => !isThere(some, found))',
    replace: '.filter(([, some], _, all) => all.some(([, each]) => !isThere(each, found)) || !some)',
    tests: ['src/engine/token-insert.test.ts'],
  },
  {
    name: 'compared-by-what-is-made-up',
    file: 'src/engine/lost-rows.ts',
    find: "filled.has(name) && kind === '' &&",
    replace: "filled.has(name) && kind !== '-' &&",
    tests: ['src/engine/token-insert.test.ts'],
  },
  {
    name: 'compared-by-other-columns',
    file: 'src/runner/recover.ts',
    find: "return shape === shapeDigest(rows.shape) ? undefined : 'none'",
    replace: 'return shape === shapeDigest(rows.shape) ? undefined : undefined',
    tests: ['src/runner/end-to-end.test.ts'],
  },
  {
    name: 'marker-not-asked',
    file: 'src/engine/marked-insert.ts',
    find: 'if (insert.isRepeat) await moveMissing(parts, insert, staged, signal)',
    replace: 'if (insert.isRepeat && signal === undefined) await moveMissing(parts, insert, staged, signal)',
    tests: ['src/engine/sink.test.ts', 'src/runner/end-to-end.test.ts'],
  },
  {
    name: 'no-fence',
    file: 'src/engine/marked-insert.ts',
    find: 'if (insert.isRepeat) await fence(parts, insert.token, signal)',
    replace: 'if (insert.isRepeat && signal === undefined) await fence(parts, insert.token, signal)',
    tests: ['src/engine/sink.test.ts'],
  },
  {
    name: 'view-not-looked-for',
    file: 'src/engine/view-insert.ts',
    find: "if (answer.trim() === '1') return",
    replace: "if (answer.trim() !== '') return",
    tests: ['src/engine/sink.test.ts'],
  },
  {
    name: 'view-without-fence',
    file: 'src/engine/view-insert.ts',
    find: 'where: [mayInsert(parts, insert.token), ...plan.where]',
    replace: "where: [mayInsert(parts, ''), ...plan.where]",
    tests: ['src/engine/sink.test.ts'],
  },
  {
    name: 'claim-for-two',
    file: 'src/progress/claims/store.ts',
    find: "return owner.slot === slot ? 'mine' : 'others'",
    replace: "return owner.slot === null ? 'others' : 'mine'",
    tests: ['src/progress/claimed-partitions.test.ts'],
  },
  {
    name: 'remade-without-a-word',
    file: 'src/progress/store.ts',
    find: 'WHERE pipe_id = :pipeId AND rows_written > 0`',
    replace: 'WHERE pipe_id = :pipeId AND rows_written < 0`',
    tests: ['src/runner/open-runner.test.ts'],
  },
]
