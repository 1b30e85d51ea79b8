// Input table: changes of a member.
import { emoji, type Line, openTable } from './line.ts'

export const memberLines: Line[] = []
const { bad, good } = openTable(memberLines)

bad('member', 'an empty object', {}, 'role is required')
bad('member', 'role null', { role: null }, 'role must be one of admin, developer, not null')
bad('member', 'role as a number', { role: 1 }, 'role must be one of admin, developer, not 1')
bad('member', 'role as a boolean', { role: true }, 'role must be one of admin, developer, not true')
bad('member', 'role as a list', { role: ['admin'] }, 'role must be one of admin, developer, not a list')
bad('member', 'role as an object', { role: { name: 'admin' } }, 'role must be one of admin, developer, not an object')
bad('member', 'an empty role', { role: '' }, 'role must be one of admin, developer, not ""')
bad('member', 'a role in capitals', { role: 'ADMIN' }, 'not "ADMIN"')
bad('member', 'a role with a space', { role: 'admin ' }, 'not "admin "')
bad('member', 'a role that does not exist', { role: 'owner' }, 'not "owner"')
bad('member', 'a role in Cyrillic', { role: 'аdmin' }, 'not "аdmin"')
bad('member', 'a role in fullwidth letters', { role: 'ａｄｍｉｎ' }, 'role must be one of')
bad('member', 'a long role, quoted in part', { role: 'x'.repeat(5000) }, `not "${'x'.repeat(64)}…"`)
bad('member', 'a long role of emoji, not cut in half', { role: `x${emoji.repeat(500)}` }, `not "x${emoji.repeat(31)}…"`)
bad('member', 'an unknown field', { role: 'admin', admin: true }, 'admin is not a known field')
bad('member', 'a misspelt field', { rol: 'admin' }, [
  'rol is not a known field, did you mean "role"?',
  'role is required',
])
bad('member', 'a field in other letters', { Role: 'admin' }, 'Role is not a known field, did you mean "role"?')
bad('member', 'an empty key', { role: 'admin', '': 1 }, '"" is not a known field')
bad('member', 'a key with a point', { role: 'admin', 'a.b': 1 }, '"a.b" is not a known field')
bad(
  'member',
  'a name of another',
  { role: 'admin', name: 'Somebody Else' },
  'name cannot be changed (it is "Amara Okafor")',
)
bad('member', 'an email of another', { role: 'admin', email: 'x@y.example' }, 'email cannot be changed')
bad('member', 'a name that is null', { role: 'admin', name: null }, 'name cannot be changed')
bad('member', 'two read-only fields at once', { role: 'admin', name: 'x', joinedAt: '2020-01-01T00:00:00.000Z' }, [
  'name cannot be changed',
  'joinedAt cannot be changed',
])
bad('member', 'an echo without a role', { name: 'Amara Okafor' }, 'role is required')
good('member', 'the name it has', { role: 'developer', name: 'Amara Okafor' }, '"name":"Amara Okafor"')
good('member', 'the role it has', { role: 'developer' }, '"role":"developer"')
