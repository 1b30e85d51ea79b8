// Seals all values again with the current master key, a few per transaction, while processes run. If it is killed, every value is
// sealed with one of the keys in the file, and running it again finishes the work.
import type { Exclusive } from '../../database/exclusive.ts'
import { type Vault, VaultError } from '../../lib/vault.ts'
import { listSealedOtherwise, replaceSealed, type SealedColumn, sealedColumns } from './store.ts'

export interface Resealed {
  resealed: number
  /** Unchanged values: damaged, or sealed with a key that is not in the file. */
  unopened: number
}

/** `last` is the last row of the batch; undefined when it was empty. */
type Portion = Resealed & { last: RowKey | undefined }
type RowKey = SealedColumn['firstKey']

const valuesAtOnce = 100
const mostTries = 8

export async function reseal(database: Exclusive, vault: Vault): Promise<Resealed> {
  const total = { resealed: 0, unopened: 0 }
  for (const column of sealedColumns) {
    let after: RowKey | undefined = column.firstKey
    while (after) {
      const from: RowKey = after
      const some: Portion = await tryAgain(() => database.transaction(() => resealSome(database, vault, column, from)))
      total.resealed += some.resealed
      total.unopened += some.unopened
      after = some.last
    }
  }
  return total
}

async function resealSome({ sql }: Exclusive, vault: Vault, column: SealedColumn, after: RowKey): Promise<Portion> {
  const keyId = vault.currentKeyId
  const found = await listSealedOtherwise(sql, column, { after, keyId, limit: valuesAtOnce })
  // Sent together, so that PostgreSQL is not awaited between them.
  const outcomes = await Promise.all(
    found.map(async ({ key, sealed: before, context }) => {
      const plaintext = openOrNot(vault, before, context)
      if (plaintext === undefined) return 'unopened'
      const isDone = await replaceSealed(sql, column, { key, before, sealed: vault.seal(plaintext, context) })
      return isDone ? 'resealed' : 'changed'
    }),
  )
  const resealed = outcomes.filter((outcome) => outcome === 'resealed').length
  const unopened = outcomes.filter((outcome) => outcome === 'unopened').length
  return { resealed, unopened, last: found.at(-1)?.key }
}

function openOrNot(vault: Vault, ...sealed: Parameters<Vault['open']>): string | undefined {
  try {
    return vault.open(...sealed)
  } catch (error) {
    if (error instanceof VaultError) return undefined
    throw error
  }
}

/** Retries deadlocks with running processes, which lock rows in another order. */
async function tryAgain<Result>(work: () => Promise<Result>): Promise<Result> {
  for (let tries = 1; ; tries++) {
    try {
      return await work()
    } catch (error) {
      const { code } = error as { code?: unknown }
      if (tries === mostTries || (code !== '40P01' && code !== '40001')) throw error
    }
  }
}
