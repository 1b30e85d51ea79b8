// A list of the API as a table: pages are added with a button. On a narrow screen each row stands as a block of its own.
import { Button, Center, Skeleton, Stack, Table } from '@mantine/core'
import type { UseInfiniteQueryResult } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import type { Answer } from '../../src/client/caller.ts'
import { asPenstockError } from '../api/change.ts'
import { useLasting } from './loading.tsx'
import { ProblemNotice } from './problem-notice.tsx'

export interface Column<Item> {
  label: string
  /** Only for screen readers: the label of a column of buttons. */
  isLabelHidden?: boolean
  cell: (item: Item) => ReactNode
  width?: number | string
  align?: 'left' | 'right'
}

/** The items of all pages that were read. */
export function itemsOf<Item>(query: { data: { pages: Answer<Item[]>[] } | undefined }): Item[] {
  return query.data?.pages.flatMap(({ result }) => result) ?? []
}

export function ListTable<Item>({
  caption,
  items,
  columns,
  keyOf,
  query,
  empty,
  minWidth = 640,
}: {
  /** For screen readers. */
  caption: string
  items: Item[]
  columns: Column<Item>[]
  keyOf: (item: Item) => string
  query: Pick<UseInfiniteQueryResult, 'isPending' | 'hasNextPage' | 'isFetchingNextPage'> & {
    fetchNextPage: () => unknown
    isFetchNextPageError?: boolean
    error?: Error | null
  }
  /** Shown instead of a table without rows. */
  empty: ReactNode
  minWidth?: number
}) {
  const waits = useLasting(query.isPending)
  if (query.isPending) {
    return (
      <Stack gap="xs" role="status" aria-label={`Loading: ${caption}`} mih={160}>
        {waits && [1, 2, 3].map((row) => <Skeleton key={row} height={40} />)}
      </Stack>
    )
  }
  if (items.length === 0 && !query.hasNextPage) return empty
  return (
    <Stack gap="sm">
      <Table.ScrollContainer
        minWidth={minWidth}
        className="list-scroll"
        // What scrolls must be reachable with the keyboard, also when nothing in it is.
        scrollAreaProps={{ viewportProps: { tabIndex: 0, role: 'region', 'aria-label': caption } }}
      >
        <Table verticalSpacing="sm" highlightOnHover className="list-table">
          <Table.Caption className="visually-hidden">{caption}</Table.Caption>
          <Table.Thead>
            <Table.Tr>
              {columns.map(({ label, isLabelHidden, width, align }) => (
                <Table.Th key={label} scope="col" w={width} ta={align}>
                  <span className={isLabelHidden ? 'visually-hidden' : undefined}>{label}</span>
                </Table.Th>
              ))}
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {items.map((item) => (
              <Table.Tr key={keyOf(item)}>
                {columns.map(({ label, isLabelHidden, cell, align }) => (
                  <Table.Td key={label} ta={align} data-label={isLabelHidden ? undefined : label}>
                    <div className="list-cell">{cell(item)}</div>
                  </Table.Td>
                ))}
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
      {query.isFetchNextPageError && !query.isFetchingNextPage && (
        <ProblemNotice error={asPenstockError(query.error)} title="The rest of the list could not be read" />
      )}
      {query.hasNextPage && (
        <Center>
          <Button variant="default" loading={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
            Show more
          </Button>
        </Center>
      )}
    </Stack>
  )
}
