import { Anchor, Button, Center, Group, Stack, Text, Title } from '@mantine/core'
import { type ErrorComponentProps, Link, useRouter } from '@tanstack/react-router'
import { asPenstockError } from '../api/change.ts'
import { RequestId } from './problem-notice.tsx'

export function NotFoundPage() {
  return (
    <Center mih={360} p="md" component="main">
      <Stack align="center" maw={480}>
        <Title order={1}>There is nothing here</Title>
        <Text c="dimmed" ta="center">
          The address is mistyped, what it led to has been removed, or you are not a member of its organization.
        </Text>
        <Anchor component={Link} to="/">
          Back to the overview
        </Anchor>
      </Stack>
    </Center>
  )
}

export function ErrorPage({ error, reset }: ErrorComponentProps) {
  const router = useRouter()
  const problem = asPenstockError(error)
  if (problem.status === 404) return <NotFoundPage />
  return (
    <Center mih={360} p="md" role="alert">
      <Stack align="center" maw={520}>
        <Title order={1}>{problem.status === 0 ? 'Penstock does not answer' : 'This page could not be shown'}</Title>
        <Text ta="center">{problem.message}</Text>
        <RequestId id={problem.requestId} />
        <Group>
          <Button
            onClick={() => {
              reset()
              void router.invalidate()
            }}
          >
            Try again
          </Button>
        </Group>
      </Stack>
    </Center>
  )
}
