// Frame of pages without a session.
import { Center, Group, Paper, Stack, Title } from '@mantine/core'
import { type ReactNode, useEffect } from 'react'
import { Logo } from './logo.tsx'
import { ColorSchemeButton } from './shell.tsx'

export function CardPage({ title, children }: { title: string; children: ReactNode }) {
  useEffect(() => {
    document.title = `${title} · Penstock`
  }, [title])
  return (
    <Center mih="100vh" p="md" component="main">
      <Stack w="100%" maw={420} gap="md">
        <Group justify="space-between">
          <Logo isAlwaysNamed />
          <ColorSchemeButton />
        </Group>
        <Paper withBorder shadow="sm" p={{ base: 'lg', sm: 'xl' }}>
          <Stack>
            <Title order={1} style={{ overflowWrap: 'anywhere' }}>
              {title}
            </Title>
            {children}
          </Stack>
        </Paper>
      </Stack>
    </Center>
  )
}
