// A table that is all there at once and may be long: it scrolls in its place, below a head that stays.
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
  /** Each row is one line, as wide as it needs to be: the table scrolls sideways. */
  isCompact?: boolean
}) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable with the keyboard.
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
