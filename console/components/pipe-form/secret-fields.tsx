import { SimpleGrid } from '@mantine/core'
import { type FieldText, secretFields } from '../pipe-fields.ts'
import { TextField } from './fields.tsx'
import { errorOf, type FormError } from './form-error.ts'
import { PemInput, SecretInput } from './secret-input.tsx'

export type SecretName = keyof typeof secretFields

/** Inputs for the secrets of one group, such as `credentials` or `accessKey`. */
export function SecretFields<Name extends SecretName>({
  names,
  value,
  onChange,
  error,
  path,
  required = false,
  labelPrefix,
}: {
  names: Name[]
  value: Record<Name, string>
  onChange: (changed: Partial<Record<Name, string>>) => void
  error: FormError
  /** Path of the group in the body. */
  path: string[]
  required?: boolean
  /** Distinguishes the labels of groups: "Registry" makes "Registry password". */
  labelPrefix?: string
}) {
  // An error of the group is shown at its first empty field, otherwise at the last one, which is the secret. With a connection
  // string it is shown there.
  const fieldWithError =
    names.find((name) => name === 'connectionString' && value[name] !== '') ??
    names.find((name) => value[name] === '') ??
    names.at(-1)
  const isWide = (name: Name): boolean => ['certificate', 'privateKey', 'connectionString'].includes(name)
  const input = (name: Name) => (
    <OneSecret
      key={name}
      name={name}
      labelPrefix={labelPrefix}
      value={value[name]}
      onChange={(secret) => onChange({ [name]: secret } as Partial<Record<Name, string>>)}
      error={errorOf(error, ...path, name) ?? (name === fieldWithError ? errorOf(error, ...path) : undefined)}
      required={required}
    />
  )
  const narrowNames = names.filter((name) => !isWide(name))
  return (
    <>
      {names.filter(isWide).map(input)}
      {narrowNames.length > 0 && <SimpleGrid cols={{ base: 1, sm: 2 }}>{narrowNames.map(input)}</SimpleGrid>}
    </>
  )
}

function OneSecret({
  name,
  labelPrefix,
  ...props
}: {
  name: SecretName
  labelPrefix: string | undefined
  value: string
  onChange: (secret: string) => void
  error: string | undefined
  required: boolean
}) {
  const text: FieldText = secretFields[name]
  const label = labelPrefix ? `${labelPrefix} ${text.label.toLowerCase()}` : text.label
  switch (name) {
    case 'username':
    case 'accessKeyId':
      return <TextField field={{ ...text, label }} {...props} />
    case 'certificate':
      return <PemInput label={label} about={text.about} {...props} />
    default:
      return <SecretInput label={label} about={text.about} isMultiline={name === 'privateKey'} {...props} />
  }
}
