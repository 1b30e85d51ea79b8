// The tables that a pipe fills, in a list of pipes.
import { Stack, Text } from '@mantine/core'
import type { Pipe } from '../../src/client/shapes.ts'

/** As people write them: `database.table`. */
export function tablesOf({ source, destination: { database, table } }: Pipe): string[] {
  if (source.postgres) return source.postgres.tableMappings.map(({ targetTable }) => `${database}.${targetTable}`)
  return [table === undefined ? database : `${database}.${table}`]
}

export function PipeTables({ pipe }: { pipe: Pipe }) {
  const [first, ...others] = tablesOf(pipe)
  return (
    <Stack gap={0}>
      <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
        {first}
      </Text>
      {others.length > 0 && (
        <Text size="xs" c="dimmed">
          and {others.length} more
        </Text>
      )}
    </Stack>
  )
}
