// Checks that sealed values can be opened, with a sample of each kind that starts at a random row.
import type { Sql } from '../database/sql.ts'
import { keyCheckContext } from '../installation/key-check.ts'
import { countSealed, listSealedOtherwise, type SealedColumn, sealedColumns } from '../installation/sealed/store.ts'
import { newId } from '../lib/id.ts'
import { type Vault, VaultError } from '../lib/vault.ts'
import { type Finding, type Issue, plural, problem, toFinding, warning } from './finding.ts'

const triedOfEach = 200
const mostNamed = 3
/** Matches no key, so that values of all keys are listed. */
const noKeyId = ''

interface Tried {
  column: SealedColumn
  tried: number
  /** Ids of rows whose values cannot be opened. */
  unopened: string[]
}

/** Display name and remedy by table. */
const kinds: Record<string, { name: string; remedy: string }> = {
  services: { name: 'the password of service', remedy: 'set endpoint.password of the service again' },
  pipes: { name: 'the secrets of pipe', remedy: 'update the pipe with its credentials' },
  source_leftovers: {
    name: 'the secrets of deleted pipe',
    remedy: 'drop its replication slot, or deregister its consumer, at the source yourself',
  },
  idempotency_records: {
    name: 'the remembered answer of organization',
    remedy: 'nothing: it is forgotten within a day',
  },
}

export async function checkSealedValues(sql: Sql, vault: Vault): Promise<Finding> {
  const results: Tried[] = []
  for (const column of sealedColumns) results.push(await tryToOpen(sql, vault, column))
  if (results.some(({ column, tried }) => column.table === keyCheckContext.table && tried === 0)) {
    const remedy = 'run "penstock init", or correct PENSTOCK_DATA or DATABASE_URL'
    return toFinding('sealed values', '', [problem('this Penstock has not been set up yet: it has no data', remedy)])
  }
  const isForeign = results.some(
    ({ column, unopened }) => column.table === keyCheckContext.table && unopened.length > 0,
  )
  if (isForeign) {
    const remedy = 'put back the master key file that the database was set up with'
    const found = 'the master keys do not belong to this database: nothing that is sealed can be opened'
    return toFinding('sealed values', '', [problem(found, remedy)])
  }
  const { byKey, byOthers } = await countSealed(sql, vault.keyIds)
  const total = [...byKey.values()].reduce((sum, count) => sum + count, byOthers)
  const old = total - byOthers - (byKey.get(vault.currentKeyId) ?? 0)
  const tried = results.reduce((sum, result) => sum + result.tried, 0)
  const issues: Issue[] = results.flatMap(issuesOf)
  if (byOthers > 0) {
    const remedy =
      'put back the keys from a copy of the master key file of before; values that no key opens must be set again'
    const found = `${plural(byOthers, 'value is', 'values are')} sealed with keys that are not in the master key file`
    issues.push(problem(found, remedy))
  }
  if (old > 0) {
    const found = `${old} of ${plural(total, 'value')} ${old === 1 ? 'is' : 'are'} still sealed with old keys`
    issues.push(warning(found, 'run "penstock keys rotate", which finishes the rotation'))
  }
  const found = `${plural(total, 'value')}, all sealed with ${vault.currentKeyId}; ${tried} tried, and opened`
  return toFinding('sealed values', found, issues)
}

async function tryToOpen(sql: Sql, vault: Vault, column: SealedColumn): Promise<Tried> {
  const fromRandom = await listSealedOtherwise(sql, column, {
    after: randomKey(column),
    keyId: noKeyId,
    limit: triedOfEach,
  })
  const left = triedOfEach - fromRandom.length
  const fromStart =
    left > 0 ? await listSealedOtherwise(sql, column, { after: column.firstKey, keyId: noKeyId, limit: left }) : []
  const values = new Map([...fromStart, ...fromRandom].map((value) => [JSON.stringify(value.key), value]))
  const unopened: string[] = []
  for (const { key, sealed, context } of values.values()) {
    try {
      vault.open(sealed, context)
    } catch (error) {
      if (!(error instanceof VaultError)) throw error
      unopened.push(String(Object.values(key)[0]))
    }
  }
  return { column, tried: values.size, unopened }
}

function issuesOf({ column, unopened }: Tried): Issue[] {
  const kind = kinds[column.table]
  if (unopened.length === 0 || !kind) return []
  const named = unopened.slice(0, mostNamed).join(', ')
  const more = unopened.length > mostNamed ? ` and ${unopened.length - mostNamed} more` : ''
  return [problem(`${kind.name} ${named}${more} cannot be opened: damaged, or moved`, kind.remedy)]
}

function randomKey({ firstKey }: SealedColumn): SealedColumn['firstKey'] {
  const [[name, value] = ['', 0], ...others] = Object.entries(firstKey)
  return Object.fromEntries([[name, value === '' ? newId() : value], ...others])
}
