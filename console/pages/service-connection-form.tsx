import { Checkbox, TextInput } from '@mantine/core'
import { endpointUrl } from '../components/cloud-provider.ts'
import type { FieldChange } from '../components/field-changes.ts'
import { PasswordField } from '../components/password-field.tsx'
import { type ServiceEdit, ServiceForm, withField } from './service-edit.tsx'

/** URL and credentials of the engine. The stored password is never shown, and never sent to another URL. */
export function ConnectionForm({
  edit,
  onDone,
  autoFocus = false,
}: {
  edit: ServiceEdit
  onDone?: () => void
  autoFocus?: boolean
}) {
  const { draft, setDraft } = edit
  const [endpoint] = edit.base.result.endpoints
  const present = { url: endpoint ? endpointUrl(endpoint) : '', username: endpoint?.username ?? '' }
  const replacesPassword = draft.password !== undefined
  const changes: FieldChange[] = [
    ...(draft.url === undefined ? [] : [{ field: 'endpoint.url', ...from(present.url), to: draft.url }]),
    ...(draft.username === undefined
      ? []
      : [{ field: 'endpoint.username', ...from(present.username), to: draft.username }]),
    ...(replacesPassword
      ? [
          {
            field: 'endpoint.password',
            ...from(endpoint ? 'the stored one' : ''),
            to: draft.password === '' ? 'empty' : 'the one you typed',
          },
        ]
      : []),
  ]
  return (
    <ServiceForm
      edit={edit}
      title="Connection"
      about="Where the HTTP interface of the engine is, and the user that Penstock signs in as. The engine is checked at once after a change."
      fields={['url', 'username', 'password']}
      patch={{
        endpoint: {
          ...(draft.url === undefined ? {} : { url: draft.url }),
          ...(draft.username === undefined ? {} : { username: draft.username }),
          ...(draft.password === undefined ? {} : { password: draft.password }),
        },
      }}
      changes={changes}
      label="Save connection"
      shownFields={['endpoint/url', 'endpoint/username', 'endpoint/password']}
      {...(onDone ? { onDone } : {})}
    >
      {(errorAt) => (
        <>
          <TextInput
            label="URL"
            description="http or https, the host, and the port unless it is 8123 or, with TLS, 8443."
            inputMode="url"
            autoFocus={autoFocus}
            autoComplete="off"
            spellCheck={false}
            value={draft.url ?? present.url}
            onChange={({ currentTarget: { value } }) => {
              const moved = withField(draft, 'url', value, present.url)
              // The API requires the password with another URL: the field appears with a changed URL and disappears with it.
              if (draft.url === undefined) setDraft({ password: '', ...moved })
              else if (moved.url === undefined && draft.password === '')
                setDraft(withField(moved, 'password', undefined))
              else setDraft(moved)
            }}
            error={errorAt('endpoint/url')}
          />
          <TextInput
            label="User name"
            description="A user of the engine."
            maw={420}
            autoComplete="off"
            spellCheck={false}
            value={draft.username ?? present.username}
            onChange={({ currentTarget: { value } }) => setDraft(withField(draft, 'username', value, present.username))}
            error={errorAt('endpoint/username')}
          />
          <Checkbox
            label="Replace the password"
            description="The stored one is kept sealed, cannot be shown, and goes only to the URL that it was stored for."
            checked={replacesPassword}
            onChange={({ currentTarget: { checked } }) =>
              setDraft(withField(draft, 'password', checked ? '' : undefined))
            }
            error={replacesPassword ? undefined : errorAt('endpoint/password')}
          />
          {replacesPassword && (
            <PasswordField
              label="New password"
              description="Leave it empty if the user has none."
              autoComplete="new-password"
              maw={420}
              value={draft.password}
              onChange={({ currentTarget: { value } }) => setDraft({ ...draft, password: value })}
              error={errorAt('endpoint/password')}
            />
          )}
        </>
      )}
    </ServiceForm>
  )
}

function from(value: string): { from?: string } {
  return value === '' ? {} : { from: value }
}
