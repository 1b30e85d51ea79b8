// Table of an API list; a button loads further pages. On narrow screens each row is a block.
// Lists can have thousands of rows: a row is rendered again only when its item or the columns change, and its cells are plain
// elements. Menus and dialogs are rendered once for the table, on demand.
import { Button, Center, Skeleton, Stack, Table } from '@mantine/core'
import type { UseInfiniteQueryResult } from '@tanstack/react-query'
import { memo, type ReactNode } from 'react'
import type { Answer } from '../../src/client/caller.ts'
import { asPenstockError } from '../api/change.ts'
import { useLasting } from './loading.tsx'
import { ProblemNotice } from './problem-notice.tsx'

export interface Column<Item> {
  label: string
  /** The label is for screen readers only, for a column of buttons. */
  isLabelHidden?: boolean
  cell: (item: Item) => ReactNode
  width?: number | string
  align?: 'left' | 'right'
}

export type ListQuery = Pick<UseInfiniteQueryResult, 'isPending' | 'hasNextPage' | 'isFetchingNextPage'> & {
  fetchNextPage: () => unknown
  isFetchNextPageError?: boolean
  error?: Error | null
}

/** The items of all loaded pages. */
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
  /** Must keep its identity between renders: other columns render every row again. */
  columns: Column<Item>[]
  keyOf: (item: Item) => string
  query: ListQuery
  /** Shown instead of an empty table. */
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
        // Scrollable areas must be focusable by keyboard.
        scrollAreaProps={{ viewportProps: { tabIndex: 0, role: 'region', 'aria-label': caption } }}
      >
        <table className="list-table">
          <caption className="visually-hidden">{caption}</caption>
          <thead>
            <tr>
              {columns.map(({ label, isLabelHidden, width, align }) => (
                <th key={label} scope="col" style={{ width, textAlign: align }}>
                  <span className={isLabelHidden ? 'visually-hidden' : undefined}>{label}</span>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {items.map((item) => (
              <Row key={keyOf(item)} item={item} columns={columns} />
            ))}
          </tbody>
        </table>
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

const Row = memo(ListRow) as typeof ListRow

function ListRow<Item>({ item, columns }: { item: Item; columns: Column<Item>[] }) {
  return (
    <tr>
      {columns.map(({ label, isLabelHidden, cell, align }) => (
        <td
          key={label}
          className={align === 'right' ? 'align-right' : undefined}
          data-label={isLabelHidden ? undefined : label}
        >
          <div className="list-cell">{cell(item)}</div>
        </td>
      ))}
    </tr>
  )
}
