import type { Sql } from '../database/sql.ts'
import { lockOrganization } from '../organizations/store.ts'
import { setUsedAt } from './store.ts'

export interface KeyUse {
  organizationId: string
  id: string
  usedAt: string
}

/** Locks the organization first, as all its writes do, to prevent deadlocks. */
export async function noteKeyUse({ sql }: { sql: Sql }, use: KeyUse): Promise<void> {
  await lockOrganization(sql, use.organizationId)
  await setUsedAt(sql, use)
}
