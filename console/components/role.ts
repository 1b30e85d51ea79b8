import type { Role } from '../api/session.ts'

/** Rights of a role; continues a sentence after "who". */
export const roleInWords: Record<Role, string> = {
  admin: 'may do everything',
  developer: 'is read-only',
}

export const roleLabels: Record<Role, string> = { admin: 'Admin', developer: 'Developer' }

/** Roles of a key, which may have both. */
export function rolesText(roles: Role[]): string {
  return roles.map((role) => roleLabels[role]).join(', ')
}

export const roleChoices: { value: Role; label: string; description: string }[] = [
  { value: 'developer', label: roleLabels.developer, description: 'Read-only: sees everything, changes nothing.' },
  { value: 'admin', label: roleLabels.admin, description: 'May do everything, also invite and remove people.' },
]
