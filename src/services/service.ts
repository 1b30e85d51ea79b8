import type { Sql } from '../database/sql.ts'
import { notFound } from '../lib/problem.ts'
import { idParameter, OrganizationPath } from '../organizations/organization.ts'
import { findService } from './store.ts'

export type Provider = 'aws' | 'gcp' | 'azure'

export interface Service {
  id: string
  organizationId: string
  name: string
  provider: Provider
  region: string
}

export const ServicePath = { ...OrganizationPath, serviceId: idParameter('A service of the organization.') }

export async function loadService(sql: Sql, organizationId: string, serviceId: string): Promise<Service> {
  const service = await findService(sql, organizationId, serviceId)
  if (!service) throw notFound(`service ${serviceId} was not found in organization ${organizationId}`)
  return service
}
