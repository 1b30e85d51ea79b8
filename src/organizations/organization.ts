import { Type } from '../lib/schema.ts'

/** A uuid in a path. */
export function idParameter(description: string) {
  return Type.String({ format: 'uuid', description })
}

export const OrganizationPath = { organizationId: idParameter('The organization of the API key.') }
