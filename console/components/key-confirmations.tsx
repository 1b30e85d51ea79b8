// Confirmations before a key is disabled, enabled, deleted or rotated, shared by both key pages.
import type { Key } from '../../src/client/shapes.ts'
import { Confirm } from './confirm.tsx'
import { rolesText } from './role.ts'
import { RotateKey } from './rotate-key.tsx'
import { Time } from './time.tsx'

export type KeyAction = 'disable' | 'enable' | 'rotate' | 'delete'

export function KeyConfirmation({
  organizationId,
  apiKey,
  action,
  onClose,
  onDeleted,
}: {
  organizationId: string
  apiKey: Key
  /** Undefined: closed. */
  action: KeyAction | undefined
  onClose: () => void
  onDeleted?: () => void | Promise<void>
}) {
  const keyPath = { organizationId, keyId: apiKey.id }
  const lastUse = apiKey.usedAt ? (
    <>
      It was last used <Time at={apiKey.usedAt} />.
    </>
  ) : (
    'It has never been used.'
  )
  return (
    <>
      <Confirm
        organizationId={organizationId}
        title={`Disable “${apiKey.name}”?`}
        label="Disable key"
        doneText={`Key ${apiKey.name} disabled`}
        call={(api) => api.updateKey(keyPath, { state: 'disabled' })}
        opened={action === 'disable'}
        onClose={onClose}
      >
        Requests with this key are refused from now on, until it is enabled again. {lastUse}
      </Confirm>
      <Confirm
        organizationId={organizationId}
        title={`Enable “${apiKey.name}”?`}
        label="Enable key"
        doneText={`Key ${apiKey.name} enabled`}
        call={(api) => api.updateKey(keyPath, { state: 'enabled' })}
        danger={false}
        opened={action === 'enable'}
        onClose={onClose}
      >
        Programs with its secret can use the key again, as {rolesText(apiKey.roles)}.
      </Confirm>
      <Confirm
        organizationId={organizationId}
        title={`Delete “${apiKey.name}”?`}
        label="Delete key"
        doneText={`Key ${apiKey.name} deleted`}
        call={(api) => api.deleteKey(keyPath)}
        typeToConfirm={apiKey.name}
        opened={action === 'delete'}
        onClose={onClose}
        onDone={onDeleted}
      >
        Requests with this key are refused from now on. It cannot be restored. {lastUse}
      </Confirm>
      <RotateKey organizationId={organizationId} apiKey={apiKey} opened={action === 'rotate'} onClose={onClose} />
    </>
  )
}
