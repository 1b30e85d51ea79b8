import type { Sql } from '../database/sql.ts'
import { lockOrganization } from '../organizations/store.ts'
import { setUsedAt } from './store.ts'

export interface KeyUse {
  organizationId: string
  id: string
  usedAt: string
}

/** The write. Takes the organization's lock first, as every write of an organization does, and so cannot deadlock with one. */
export async function noteKeyUse({ sql }: { sql: Sql }, use: KeyUse): Promise<void> {
  await lockOrganization(sql, use.organizationId)
  await setUsedAt(sql, use)
}
