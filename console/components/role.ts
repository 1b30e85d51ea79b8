import type { Role } from '../api/session.ts'

/** What each role may do; goes on after "who". */
export const roleInWords: Record<Role, string> = {
  admin: 'may do everything',
  developer: 'may read everything and change nothing',
}

export const roleChoices: { value: Role; label: string; description: string }[] = [
  { value: 'developer', label: 'Developer', description: 'May read everything and change nothing.' },
  { value: 'admin', label: 'Admin', description: 'May do everything, also invite and remove people.' },
]
