// Secrets that are shown only once.
import { Alert, Button, Code, Group, Stack, Text } from '@mantine/core'
import { CopyTextButton } from './copy.tsx'
import { DownloadIcon } from './icons.tsx'

export function ShownOnce({
  title,
  values,
  fileName,
  children,
}: {
  title: string
  /** By their name in the downloadable file. */
  values: Record<string, string>
  fileName?: string
  children?: React.ReactNode
}) {
  const names = Object.keys(values)
  const text = names.map((name) => `${name}=${values[name]}`).join('\n')
  return (
    <Alert color="teal" variant="light" title={title} styles={{ body: { minWidth: 0 } }}>
      <Stack gap="sm">
        {children}
        {names.map((name) => (
          <Stack key={name} gap={2}>
            <Text size="xs" fw={600}>
              {name}
            </Text>
            <Group gap="xs" wrap="nowrap">
              <Code className="shown-once" data-secret={name}>
                {values[name]}
              </Code>
              <CopyTextButton text={values[name]!} size="compact-sm" aria-label={`Copy ${name}`}>
                Copy
              </CopyTextButton>
            </Group>
          </Stack>
        ))}
        {fileName && (
          <Group>
            <Button
              variant="default"
              size="xs"
              maw="100%"
              leftSection={<DownloadIcon size={16} />}
              onClick={() => download(fileName, `${text}\n`)}
            >
              Download {fileName}
            </Button>
          </Group>
        )}
      </Stack>
    </Alert>
  )
}

function download(fileName: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: 'text/plain' }))
  const link = document.createElement('a')
  link.href = url
  link.download = fileName
  link.click()
  setTimeout(() => URL.revokeObjectURL(url), 1000)
}
