// Shows the secret of a key that was just created or rotated, with a command to try it.
import { Code, Group, Stack, Text } from '@mantine/core'
import type { KeyWithSecret } from '../../src/client/shapes.ts'
import { requestOf } from '../api/client.ts'
import { CopyTextButton } from './copy.tsx'
import { ShownOnce } from './shown-once.tsx'

export function KeySecret({
  organizationId,
  made,
  children,
}: {
  organizationId: string
  made: KeyWithSecret
  children?: React.ReactNode
}) {
  const { key, keyId, keySecret } = made
  const { path } = requestOf((api) => api.getCurrentKey({ organizationId }))
  const curl = `curl -u '${keyId}:${keySecret}' '${location.origin}${path}'`
  return (
    <Stack>
      <ShownOnce
        title={`The secret of “${key.name}”: keep it now`}
        values={{
          KEY_ID: keyId,
          KEY_SECRET: keySecret,
          BASE_URL: location.origin,
          ORGANIZATION_ID: organizationId,
        }}
        fileName={`${fileNameOf(key.name)}.env`}
      >
        <Text size="sm">
          The secret is shown only here: Penstock keeps no more than a hash of it. A lost secret is replaced by rotating
          the key.
        </Text>
        {children}
      </ShownOnce>
      <Stack gap="xs">
        <Text size="sm" fw={600}>
          Try it
        </Text>
        <Text size="sm" c="dimmed">
          Paste this into a terminal. Penstock answers with the key itself: its role, its expiry and where it may be
          used from.
        </Text>
        <Code block tabIndex={0} className="wrapping-code">
          {curl}
        </Code>
        <Group>
          <CopyTextButton text={curl} size="xs">
            Copy the command
          </CopyTextButton>
        </Group>
      </Stack>
    </Stack>
  )
}

function fileNameOf(name: string): string {
  return (
    name
      .toLowerCase()
      .replaceAll(/[^a-z0-9]+/g, '-')
      .replaceAll(/^-|-$/g, '')
      .slice(0, 40) || 'penstock'
  )
}
