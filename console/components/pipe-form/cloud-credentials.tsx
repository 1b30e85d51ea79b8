import { kinesisFields } from '../pipe-fields.ts'
import type { AccessKeyDraft } from './create-draft.ts'
import { TextField } from './fields.tsx'
import { errorOf, type FormError } from './form-error.ts'
import { SecretFields } from './secret-fields.tsx'

interface CloudDraft {
  authentication: string
  iamRole: string
  accessKey: AccessKeyDraft
}

/** IAM role or access key, depending on the authentication. */
export function CloudCredentials({
  value,
  onChange,
  error,
  path,
}: {
  value: CloudDraft
  onChange: (changed: { iamRole: string } | { accessKey: AccessKeyDraft }) => void
  error: FormError
  /** Path of the source in the body. */
  path: string[]
}) {
  if (value.authentication === 'IAM_ROLE') {
    return (
      <TextField
        field={kinesisFields.iamRole}
        value={value.iamRole}
        onChange={(iamRole) => onChange({ iamRole })}
        error={errorOf(error, ...path, 'iamRole')}
        required
        placeholder="arn:aws:iam::123456789012:role/penstock"
      />
    )
  }
  if (value.authentication !== 'IAM_USER') return null
  return (
    <SecretFields
      names={['accessKeyId', 'secretKey']}
      value={value.accessKey}
      onChange={(changed) => onChange({ accessKey: { ...value.accessKey, ...changed } })}
      error={error}
      path={[...path, 'accessKey']}
      required
    />
  )
}
