// Fields of credentials: write-only, and shown where the authentication needs them.
import { secretFields } from '../pipe-fields.ts'
import { always, type FormField, type Input, type Is, isNew, type More, type SecretRow } from './form-field.ts'
import { neededSecrets } from './pipe-draft.ts'

const secretInputs: Record<string, Input> = {
  username: 'text',
  accessKeyId: 'text',
  certificate: 'pem',
  privateKey: 'privateKey',
}

export function secretRow(
  group: string,
  names: (keyof typeof secretFields)[],
  more?: (name: string) => More,
): SecretRow {
  const groupName = group.split('/').at(-1)!
  const isUsed = (name: string): Is => {
    return (draft) => {
      const needed = neededSecrets(draft)
      return needed?.group === groupName && needed.names.includes(name)
    }
  }
  const fields = names.map((name): FormField => {
    const common = { ...secretFields[name], input: secretInputs[name] ?? 'password', isSecret: true }
    const pointer = groupName === name ? group : `${group}/${name}`
    return { pointer, ...common, isShown: isUsed(name), isNeeded: always, ...more?.(name) }
  })
  return { group, fields }
}

/** Stored secrets that the authentication does not use can be removed. */
export function forgetField(group: string, label: string, more: More = {}): FormField {
  const name = group.split('/').at(-1)
  return {
    pointer: group,
    input: 'forget',
    label,
    about: 'The chosen authentication does not use it.',
    isShown: (draft) => !isNew(draft) && neededSecrets(draft)?.group !== name,
    isMutable: true,
    ...more,
  }
}
