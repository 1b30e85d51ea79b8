// The slot from which a pipe follows the log of its source. One that is gone, or that has lost what was on its way, has taken changes
// with it: then everything is loaded again, where the pipe loads at all.
import type { PostgresLink } from '../../sources/postgres/postgres-link.ts'
import { createSlot, dropSlot, findSlotState } from '../../sources/postgres/postgres-setup.ts'
import { createSlotStatement } from '../../sources/postgres/postgres-words.ts'
import { NotConnected } from '../../sources/source.ts'
import type { StoredPosition } from '../delivery.ts'
import { noFigures } from '../figures.ts'
import { CannotGoOn } from '../judge.ts'
import type { WorkerStore } from '../worker.ts'
import { originPartition, replicationName, walPartition } from './names.ts'
import type { Replication } from './replication.ts'
import { LogLost } from './stream.ts'

export function slotName({ source, parts: { pipe } }: Pick<Replication, 'source' | 'parts'>): string {
  return source.settings.replicationSlotName ?? replicationName(pipe.id)
}

/** A position in the log of another server or database says nothing about this one: everything is loaded again. */
export async function keepOrigin({ source, parts, store, tables }: Replication, wal: PostgresLink): Promise<void> {
  const [system] = await wal.query('IDENTIFY_SYSTEM')
  const origin = `${system?.[0]}/${system?.[3]}`
  const known = (await store.listPositions()).find(({ partition }) => partition === originPartition)?.position
  if (known === origin) return
  const itself = [{ partition: originPartition, position: origin }]
  if (known === undefined) return store.setPositions(itself)
  if (source.settings.replicationMode !== 'cdc_only') {
    parts.log.warn('the source is another one; its tables are loaded anew', { pipeId: parts.pipe.id })
    await tables.requestReload()
  }
  await forgetPosition(store, '0/0', itself)
}

/** A slot that is gone has taken changes with it: then everything is loaded again. */
export async function keepSlot(
  replication: Replication,
  { link, wal }: { link: PostgresLink; wal: PostgresLink },
): Promise<void> {
  const { source, parts, store, tables } = replication
  const slot = slotName(replication)
  const state = await findSlotState(link, slot)
  if (state === 'there') return
  if (source.settings.replicationSlotName !== undefined) {
    throw new CannotGoOn(`the replication slot ${slot} is gone, or has lost changes that it had not given out yet`)
  }
  if ((await tables.listTables()).length > 0) {
    if (source.settings.replicationMode === 'cdc_only') throw slotGone(slot)
    parts.log.warn('a replication slot was gone; its tables are loaded anew', { pipeId: parts.pipe.id })
    // Before there is another one: whoever finds that knows nothing of the gap.
    await tables.requestReload()
  }
  if (state === 'lost') await dropSlot(link, slot)
  const position = await createSlot(wal, slot, { isFailover: source.settings.enableFailoverSlots })
  await forgetPosition(store, position)
}

function slotGone(slot: string): CannotGoOn {
  return new CannotGoOn(
    `the replication slot ${slot} is gone, and with it the changes since the pipe last ran; ` +
      'make a pipe with the replicationMode cdc, which loads the tables, or go on without these changes after ' +
      createSlotStatement(slot),
  )
}

/** Changes are lost that were on their way: everything is loaded again, and goes on with what the log still has. */
export async function afterLogLost(replication: Replication, error: unknown): Promise<unknown> {
  if (!(error instanceof LogLost)) return error
  const { parts, source } = replication
  if (source.settings.replicationMode === 'cdc_only') {
    return new CannotGoOn(
      `the replication slot ${slotName(replication)} does not have the changes that were on their way`,
    )
  }
  parts.log.warn('a log does not go on where it was left; its tables are loaded anew', { pipeId: parts.pipe.id })
  await parts.tables.requestReload()
  await forgetPosition(parts.store, '0/0')
  return new NotConnected()
}

/** What was on its way is in what is loaded. */
async function forgetPosition(store: WorkerStore, position: string, more: StoredPosition[] = []): Promise<void> {
  const deliveries = await store.listDeliveries()
  const behind = deliveries.filter(({ ranges }) => ranges[0]?.partition === walPartition).map(({ id }) => id)
  const positions = [{ partition: walPartition, position }, ...more]
  await store.finish({ done: [], behind, positions, figures: noFigures })
}
