// Secrets are never shown: they can be replaced, or removed when unused.
import { Checkbox, Input, Stack } from '@mantine/core'
import { useId } from 'react'
import { type FieldText, secretFields } from '../components/pipe-fields.ts'
import { errorOf, otherErrors } from '../components/pipe-form/form-error.ts'
import { ListLabel } from '../components/pipe-form/list-parts.tsx'
import {
  chosenAuthentication,
  forgettableSecrets,
  neededSecrets,
  type SecretGroup,
} from '../components/pipe-form/pipe-draft.ts'
import { SecretInput } from '../components/pipe-form/secret-input.tsx'
import type { SourcePart } from './edit-pipe-source.tsx'

const keep = 'Leave empty to keep the current one'

export function EditPipeSecrets({ pipe, draft, kind, typed, editSource, error }: SourcePart) {
  const titleId = useId()
  const needed = neededSecrets(pipe, chosenAuthentication(pipe, draft))
  if (!needed) return null
  const { group, names } = needed
  const path = ['source', kind, group]
  const secrets = typed.secrets ?? {}
  const isOne = group === 'connectionString'
  const groupError = isOne
    ? undefined
    : otherErrors(
        error,
        path,
        names.map((name) => [name]),
      )
  const present = pipe.source.objectStorage?.connectionString
  const isInUse = neededSecrets(pipe, chosenAuthentication(pipe, {}))?.names.join() === names.join()
  return (
    <Stack gap="sm" role="group" aria-labelledby={titleId}>
      <ListLabel id={titleId} label="Credentials">
        {isInUse
          ? 'They are stored sealed and never shown. Fill in only the ones to replace.'
          : 'Credentials of the chosen authentication. Empty fields keep their stored value, if any.'}
        {isOne && present && ` Present: ${present}`}
      </ListLabel>
      {names.map((name) => {
        const field: FieldText = secretFields[name]
        return (
          <SecretInput
            key={name}
            label={field.label}
            about={isOne ? undefined : field.about}
            placeholder={isInUse ? keep : undefined}
            value={secrets[name] ?? ''}
            onChange={(secret) => editSource({ secrets: { ...secrets, [name]: secret } })}
            error={errorOf(error, ...path, ...(isOne ? [] : [name]))}
            isMultiline={name === 'certificate' || name === 'privateKey'}
          />
        )
      })}
      {groupError && <Input.Error role="alert">{groupError}</Input.Error>}
    </Stack>
  )
}

const forgetLabels: Record<SecretGroup, string> = {
  credentials: 'Forget the stored credentials, if there are any',
  accessKey: 'Forget the stored access key, if there is one',
  connectionString: 'Forget the stored connection string',
}

export function ForgetSecrets({ pipe, draft, kind, typed, editSource, error }: SourcePart) {
  const { forgottenSecrets = [] } = typed
  return forgettableSecrets(pipe, chosenAuthentication(pipe, draft)).map((group) => (
    <Checkbox
      key={group}
      label={forgetLabels[group]}
      description="The chosen authentication does not use it."
      checked={forgottenSecrets.includes(group)}
      onChange={({ currentTarget: { checked } }) =>
        editSource({
          forgottenSecrets: checked ? [...forgottenSecrets, group] : forgottenSecrets.filter((one) => one !== group),
        })
      }
      error={otherErrors(error, ['source', kind, group], [])}
    />
  ))
}
