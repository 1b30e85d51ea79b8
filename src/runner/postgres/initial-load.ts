// Loads tables that are not loaded yet, beside change data capture, and swaps each reloaded table with the one it replaces.
import type { DescribedSource } from '../../sources/postgres/postgres-describe.ts'
import { tableName } from '../../sources/postgres/postgres-names.ts'
import { type Targets, tableOf } from './open-targets.ts'
import type { Replication } from './replication.ts'
import { markOlderDeleted } from './stream.ts'
import { type Load, loadTables } from './table-loader.ts'
import type { Target } from './target.ts'

/** `begun` resolves when the LSN is known after which changes are not in the loads. */
export function startInitialLoad(
  replication: Replication,
  described: DescribedSource,
  targets: Targets,
  changed: () => void,
): { loading: Promise<void>; begun: Promise<void> } {
  const { promise: begun, resolve } = Promise.withResolvers<void>()
  return { loading: runInitialLoad(replication, described, targets, { begun: resolve, changed }), begun }
}

export async function runInitialLoad(
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
    // The stream may have seen a TRUNCATE during the load.
    const { truncatedVersion } = target.stored
    if (truncatedVersion !== null) await markOlderDeleted(replication, target, BigInt(truncatedVersion))
    const phase = target.stored.replaces === null ? 'following' : 'swapping'
    target.stored = { ...target.stored, phase, loadEndedAt: new Date().toISOString() }
    await tables.saveTable(target.stored)
  })
  if (target.stored.phase === 'swapping') await swap(replication, targets, target, changed)
}

/** Swaps between two batches, so that no insert is in flight to a table that is being renamed. */
async function swap(
  { gate, engine, tables, signal, status }: Replication,
  targets: Targets,
  target: Target,
  changed: () => void,
): Promise<void> {
  const { targetTable, replaces } = target.stored
  if (replaces === null) return
  status.doing(`Swapping in the reloaded ${tableName(target.mapping)}`)
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
    // Without the definition: a column that was dropped since must not be added again without its values.
    const { definition: _definition, ...opened } = target.table
    target.sink = await engine.openSink(opened, signal)
    await Promise.all(sinks.map((sink) => sink?.close().catch(() => undefined)))
    changed()
  })
}
