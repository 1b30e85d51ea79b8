import { Anchor, Button, Center, Group, Stack, Text, Title } from '@mantine/core'
import { type QueryClient, useQueryClient } from '@tanstack/react-query'
import { type ErrorComponentProps, Link, useRouter } from '@tanstack/react-router'
import { createContext, useContext, useEffect } from 'react'
import { asPenstockError } from '../api/change.ts'
import { RequestId } from './problem-notice.tsx'

/** Whether the page is inside a frame that contains the `main` element. */
export const IsFramed = createContext(false)

function useDocumentTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · Penstock`
  }, [title])
}

export function NotFoundPage() {
  const isFramed = useContext(IsFramed)
  const title = 'There is nothing here'
  useDocumentTitle(title)
  return (
    <Center mih={360} p="md" component={isFramed ? 'div' : 'main'}>
      <Stack align="center" maw={480}>
        <Title order={1}>{title}</Title>
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

/** Removes failed queries without data: otherwise they stay failed and pages do not refetch them. */
function forgetFailures(queries: QueryClient): void {
  queries.removeQueries({
    type: 'inactive',
    predicate: ({ state }) => state.status === 'error' && state.data === undefined,
  })
}

export function ErrorPage({ error, reset }: ErrorComponentProps) {
  const queries = useQueryClient()
  // Also when the person leaves by a link, so that the page is refetched on return.
  useEffect(() => {
    forgetFailures(queries)
    return () => forgetFailures(queries)
  }, [queries])
  const problem = asPenstockError(error)
  if (problem.status === 404) return <NotFoundPage />
  return (
    <ProblemPage
      problem={problem}
      onRetry={() => {
        forgetFailures(queries)
        reset()
      }}
    />
  )
}

function ProblemPage({ problem, onRetry }: { problem: ReturnType<typeof asPenstockError>; onRetry: () => void }) {
  const router = useRouter()
  const isFramed = useContext(IsFramed)
  const title = problem.status === 0 ? "Can't reach Penstock" : 'This page could not be shown'
  useDocumentTitle(title)
  return (
    <Center mih={360} p="md" component={isFramed ? 'div' : 'main'}>
      <Stack align="center" maw={520} role="alert">
        <Title order={1}>{title}</Title>
        <Text ta="center">
          {problem.status === 0 ? 'Check your connection, and that Penstock is running.' : problem.message}
        </Text>
        <RequestId id={problem.requestId} />
        <Group>
          <Button
            onClick={() => {
              onRetry()
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
