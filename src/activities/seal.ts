// Seals activities in hash chains, one per organization (docs/decisions/0007-sealed-activities.md). A seal contains a digest of each
// activity since the previous seal, and a hash that includes the hash of the previous seal. Both are keyed with the pepper: write
// access to the database is enough to break a chain, but not to forge one.
import type { WriteContext } from '../database/database.ts'
import type { Sql } from '../database/sql.ts'
import type { Vault } from '../lib/vault.ts'
import { findSealedUpTo, listOrganizationIds, lockOrganization, markSealed } from '../organizations/store.ts'
import {
  type ActivityRow,
  countActivitiesAfter,
  findLastSeal,
  findNextSeal,
  insertSeal,
  listSealedOrganizationIds,
  readActivityRows,
  type Seal,
} from './store.ts'

/** As many as one group commit can add, so that one seal per group keeps up. A seal must be quick: it blocks other writes. */
export const fullSeal = 256
const digestLength = 16
const aboveAllIds = 'g'

/** Seals the activities since the last seal of the organization, at most `fullSeal`. Returns how many were sealed. */
export async function sealActivities(
  { sql, vault }: WriteContext,
  { organizationId }: { organizationId: string },
): Promise<number> {
  await lockOrganization(sql, organizationId)
  // Continues from the chain, not from the mark of the organization: a manipulated mark could get activities sealed again.
  const previous = await findLastSeal(sql, organizationId)
  const after = previous?.lastActivityId ?? ''
  const named: { id: string; digest: string }[] = []
  for await (const row of readActivityRows(sql, { organizationId, after, upTo: aboveAllIds, rows: fullSeal }))
    named.push({ id: row.id, digest: digestOf(vault, row) })
  const last = named.at(-1)
  if (!last) return 0
  const seal = {
    number: (previous?.number ?? 0) + 1,
    lastActivityId: last.id,
    digests: named.map(({ id, digest }) => `${id} ${digest}`).join(' '),
    sealedAt: new Date().toISOString(),
  }
  const hash = hashOf(vault, organizationId, previous?.hash ?? '', seal)
  await insertSeal(sql, organizationId, { ...seal, hash })
  await markSealed(sql, organizationId, last.id)
  return named.length
}

function digestOf(vault: Vault, row: ActivityRow): string {
  const text = JSON.stringify([
    row.organization_id,
    row.id,
    row.type,
    row.created_at,
    row.actor_type,
    row.actor_id,
    row.address,
    row.user_agent,
    row.request_id,
    row.target,
    row.changes,
  ])
  return vault.fingerprint('activity', text).slice(0, digestLength)
}

function hashOf(vault: Vault, organizationId: string, previousHash: string, seal: Omit<Seal, 'hash'>): string {
  const { number, lastActivityId, digests, sealedAt } = seal
  const text = JSON.stringify([organizationId, number, previousHash, lastActivityId, digests, sealedAt])
  return vault.fingerprint('activity-seal', text)
}

/** False when no organization, activity or seal with this id exists. */
export async function hasTraces(sql: Sql, organizationId: string): Promise<boolean> {
  if ((await findSealedUpTo(sql, organizationId)) !== undefined) return true
  if (await findNextSeal(sql, organizationId, 0)) return true
  return (await countActivitiesAfter(sql, organizationId, '')) > 0
}

export interface ChainReport {
  organizationId: string
  /** Intact activities, up to the first problem. */
  sealed: number
  seals: number
  /** Activities that the next seal will cover. */
  waiting: number
  /** The first problem, as a sentence. */
  problem?: string
}

/**
 * Verifies the chain of an organization from its first seal. Safe while Penstock runs: sealed data never changes, and the mark is read
 * after the seal that it must match.
 */
export async function verifyChain(sql: Sql, vault: Vault, organizationId: string): Promise<ChainReport> {
  const report: ChainReport = { organizationId, sealed: 0, seals: 0, waiting: 0 }
  const broken = (problem: string): ChainReport => ({ ...report, problem })
  let hash = ''
  let lastId = ''
  let mark: string | undefined
  for (;;) {
    const number = report.seals + 1
    const seal = await findNextSeal(sql, organizationId, report.seals)
    if (!seal) {
      const markBefore = mark
      mark = await findSealedUpTo(sql, organizationId)
      if (mark === lastId) break
      // Read again: a seal may have been added between the two reads.
      if (markBefore !== mark) continue
      if (mark === undefined) return broken(`organization ${organizationId} is missing`)
      if (mark > lastId) return broken(`seal ${number} of organization ${organizationId} is missing`)
      return broken(`the mark of the last seal of organization ${organizationId} was changed`)
    }
    if (seal.number !== number) return broken(`seal ${number} of organization ${organizationId} is missing`)
    if (seal.hash !== hashOf(vault, organizationId, hash, seal)) {
      return broken(`seal ${number} of organization ${organizationId} was changed`)
    }
    const problem = await compareWithSeal(sql, vault, organizationId, lastId, seal, report)
    if (problem) return broken(problem)
    report.seals = number
    hash = seal.hash
    lastId = seal.lastActivityId
  }
  report.waiting = await countActivitiesAfter(sql, organizationId, lastId)
  return report
}

async function compareWithSeal(
  sql: Sql,
  vault: Vault,
  organizationId: string,
  after: string,
  seal: Seal,
  report: ChainReport,
): Promise<string | undefined> {
  const about = (id: string, what: string): string => `activity ${id} of organization ${organizationId} ${what}`
  const words = seal.digests.split(' ')
  const sealedCount = words.length / 2
  const range = { organizationId, after, upTo: seal.lastActivityId, rows: sealedCount + 1 }
  let index = 0
  for await (const row of readActivityRows(sql, range)) {
    const id = words[2 * index]
    if (id === undefined || row.id < id) return about(row.id, 'was added')
    if (row.id > id) return about(id, 'is missing')
    if (digestOf(vault, row) !== words[2 * index + 1]) return about(id, 'was changed')
    report.sealed++
    index++
  }
  return index < sealedCount ? about(words[2 * index]!, 'is missing') : undefined
}
/** Verifies all organizations that exist or have seals. */
/** Of every organization that exists or has seals. */
export async function* verifyChains(sql: Sql, vault: Vault): AsyncGenerator<ChainReport> {
  const rows = 500
  let after = ''
  for (;;) {
    const existing = await listOrganizationIds(sql, after, rows)
    const sealed = await listSealedOrganizationIds(sql, after, rows)
    const ids = [...new Set([...existing, ...sealed])].sort().slice(0, rows)
    if (ids.length === 0) return
    for (const id of ids) yield await verifyChain(sql, vault, id)
    after = ids.at(-1)!
  }
}
