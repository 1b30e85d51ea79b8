// What is asked before a key is switched off or deleted; both pages of keys ask the same.
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
  /** Nothing is asked without one. */
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
        Whoever uses this key is refused from the next request on, until it is enabled again. {lastUse}
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
        Whoever has its secret can use the key again, as {rolesText(apiKey.roles)}.
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
        Whoever uses this key is refused from the next request on, and it cannot be brought back. {lastUse}
      </Confirm>
      <RotateKey organizationId={organizationId} apiKey={apiKey} opened={action === 'rotate'} onClose={onClose} />
    </>
  )
}
