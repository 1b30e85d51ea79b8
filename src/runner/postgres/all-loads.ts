// Loads what is not loaded yet, while changes are followed, and puts a table that was loaded anew in the place of the one before.
import type { DescribedSource } from '../../sources/postgres/postgres-describe.ts'
import { tableName } from '../../sources/postgres/postgres-words.ts'
import { type Load, loadTables } from './loader.ts'
import type { Replication } from './replication.ts'
import { bury } from './stream.ts'
import type { Target } from './target.ts'
import { type Targets, tableOf } from './targets.ts'

/** `begun` resolves when the moment is known from which on changes are not in the loads. */
export function startLoading(
  replication: Replication,
  described: DescribedSource,
  targets: Targets,
  changed: () => void,
): { loading: Promise<void>; begun: Promise<void> } {
  const { promise: begun, resolve } = Promise.withResolvers<void>()
  return { loading: loadAll(replication, described, targets, { begun: resolve, changed }), begun }
}

export async function loadAll(
  replication: Replication,
  described: DescribedSource,
  targets: Targets,
  { begun = () => undefined, changed = () => undefined }: { begun?: () => void; changed?: () => void } = {},
): Promise<void> {
  const { status, well } = replication
  const loads = targets.all
    .filter(({ stored }) => stored.phase === 'snapshot')
    .map((target): Load => ({ target, described: tableOf(described, target.mapping) }))
  if (loads.length > 0) {
    status.phase(loads.some(({ target }) => target.stored.replaces !== null) ? 'resync' : 'snapshot')
    await loadTables(replication, loads, {
      serverVersion: described.server.version,
      begun,
      loaded: (target) => finishLoad(replication, targets, target, changed),
    })
  }
  begun()
  if (replication.stopping.aborted) return
  status.phase(undefined)
  if (loads.length > 0) well()
}

async function finishLoad(
  replication: Replication,
  targets: Targets,
  target: Target,
  changed: () => void,
): Promise<void> {
  const { tables, gate } = replication
  await gate.run(async () => {
    // The stream may have seen a truncate meanwhile.
    const { truncatedVersion } = target.stored
    if (truncatedVersion !== null) await bury(replication, target, BigInt(truncatedVersion))
    const phase = target.stored.replaces === null ? 'following' : 'swapping'
    target.stored = { ...target.stored, phase, loadEndedAt: new Date().toISOString() }
    await tables.saveTable(target.stored)
  })
  if (target.stored.phase === 'swapping') await swap(replication, targets, target, changed)
}

/** Between two batches: none may be on its way to a table that is called otherwise meanwhile. */
async function swap(
  { gate, engine, tables, signal, status }: Replication,
  targets: Targets,
  target: Target,
  changed: () => void,
): Promise<void> {
  const { targetTable, replaces } = target.stored
  if (replaces === null) return
  status.doing(`Putting the new ${tableName(target.mapping)} in the place of the old`)
  await gate.run(async () => {
    const { database } = targets.parts
    const shadow = { database, table: targetTable }
    await engine.swap({ table: { database, table: replaces }, shadow }, signal)
    await tables.finishSwap(targetTable)
    const before = targets.all.findIndex(({ stored }) => stored.targetTable === replaces)
    const [old] = before < 0 ? [] : targets.all.splice(before, 1)
    target.stored = { ...target.stored, targetTable: replaces, replaces: null, phase: 'following' }
    target.table = { ...target.table, table: replaces }
    const sinks = [target.sink, old?.sink]
    // Without its definition: a column that somebody has dropped by now must not be added again without its values.
    const { definition: _definition, ...opened } = target.table
    target.sink = await engine.openSink(opened, signal)
    await Promise.all(sinks.map((sink) => sink?.close().catch(() => undefined)))
    changed()
  })
}
