// Creates thousands of organizations, members and keys for drills directly in the database.
import { join } from 'node:path'
import { loadMasterKeys } from '../../src/installation/master-keys.ts'
import { newKey } from '../../src/keys/key.ts'
import { insertKey } from '../../src/keys/store.ts'
import { newId } from '../../src/lib/id.ts'
import { Vault } from '../../src/lib/vault.ts'
import { insertMember, insertUser } from '../../src/members/store.ts'
import type { Role } from '../../src/operation/caller.ts'
import { insertOrganization } from '../../src/organizations/store.ts'
import { type AdminKey, type Installation, initialize } from '../penstock-process.ts'
import { type DrillStore, inStore } from './drill-store.ts'

export interface DrillOrganization {
  key: AdminKey
  path: string
  memberIds: string[]
}

/** Creates the installation; no process may be running on it. */
export async function setUpOrganizations(
  installation: Installation,
  { count, roles }: { count: number; roles: Role[] },
): Promise<DrillOrganization[]> {
  await initialize(installation)
  const vault = new Vault(loadMasterKeys(join(installation.folder, 'master-keys.json')))
  const fill = async (store: DrillStore): Promise<DrillOrganization[]> => {
    const organizations: DrillOrganization[] = []
    for (let number = 0; number < count; number++) organizations.push(await addOrganization(store, vault, roles))
    return organizations
  }
  return inStore(installation.folder, fill, installation.databaseUrl)
}

async function addOrganization({ sql }: DrillStore, vault: Vault, roles: Role[]): Promise<DrillOrganization> {
  const organizationId = newId()
  const now = new Date().toISOString()
  await insertOrganization(sql, { id: organizationId, name: 'Drill', now })
  const key = newKey(vault)
  await insertKey(sql, { id: newId(), organizationId, key, name: 'drill', role: 'admin', now })
  const memberIds: string[] = []
  for (const role of roles) {
    const id = newId()
    await insertUser(sql, { id, name: id, email: `${id}@drill.example`, now })
    await insertMember(sql, { organizationId, userId: id, role, now })
    memberIds.push(id)
  }
  const adminKey = { organizationId, keyId: key.keyId, keySecret: key.secret.reveal() }
  return { key: adminKey, path: `/v1/organizations/${organizationId}`, memberIds }
}
