import { Radio, Stack } from '@mantine/core'
import type { Key } from '../../src/client/shapes.ts'
import { roleLabels } from './role.ts'

type Role = Key['roles'][number]

export function KeyRoleInput({
  value,
  onChange,
  error,
  disabled = false,
}: {
  value: Role
  onChange: (role: Role) => void
  error?: string | undefined
  disabled?: boolean
}) {
  return (
    <Radio.Group label="Role" value={value} onChange={(role) => onChange(role as Role)} error={error}>
      <Stack gap="xs" mt="xs">
        <Radio
          value="developer"
          label={roleLabels.developer}
          description="Reads everything and changes nothing: for dashboards and monitoring."
          disabled={disabled}
        />
        <Radio
          value="admin"
          label={roleLabels.admin}
          description="May do everything, also make other keys: for deployments and infrastructure as code."
          disabled={disabled}
        />
      </Stack>
    </Radio.Group>
  )
}
