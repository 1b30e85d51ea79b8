// A complete table that scrolls below a fixed header.
import { Table } from '@mantine/core'
import type { ReactNode } from 'react'

export interface ScrollColumn<Item> {
  label: string
  /** Below the label, such as a type. */
  detail?: string
  cell: (item: Item) => ReactNode
}

export function ScrollTable<Item>({
  caption,
  items,
  columns,
  keyOf,
  minWidth = 320,
  isCompact = false,
}: {
  /** For screen readers. */
  caption: string
  items: Item[]
  columns: ScrollColumn<Item>[]
  keyOf: (item: Item) => string
  minWidth?: number
  /** Rows do not wrap: the table scrolls horizontally. */
  isCompact?: boolean
}) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable areas must be focusable by keyboard.
    <section className={isCompact ? 'scroll-table compact-table' : 'scroll-table'} aria-label={caption} tabIndex={0}>
      <Table verticalSpacing="xs" stickyHeader miw={minWidth}>
        <Table.Caption className="visually-hidden">{caption}</Table.Caption>
        <Table.Thead>
          <Table.Tr>
            {columns.map(({ label, detail }) => (
              <Table.Th key={label} scope="col">
                {label}
                {detail && <div className="column-detail">{detail}</div>}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {items.map((item) => (
            <Table.Tr key={keyOf(item)}>
              {columns.map(({ label, cell }) => (
                <Table.Td key={label}>{cell(item)}</Table.Td>
              ))}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </section>
  )
}
