// PostgreSQL tables found by a check: mapping them with one click, and the content of mapped ones.
import { Button, Stack, Text, TextInput, Title } from '@mantine/core'
import { useState } from 'react'
import type { SourceTable } from '../../../src/client/shapes.ts'
import { SearchIcon } from '../icons.tsx'
import { More } from '../more.tsx'
import { isSameTable, type TableName } from '../pipe-form/pipe-draft.ts'
import { type AvailableTable, tablesNamed, tableTitle } from '../pipe-form/table-mapping.ts'
import { FieldsAndSample } from './sample-table.tsx'

const manyTables = 8
/** Limit of the API. */
const mostTables = 1_000

export function FoundTables({
  tables,
  mapped,
  onAdd,
}: {
  tables: AvailableTable[]
  mapped: TableName[]
  onAdd: (table: TableName) => void
}) {
  const [filter, setFilter] = useState('')
  const [added, setAdded] = useState('')
  const shown = tablesNamed(tables, filter)
  const isLong = tables.length > manyTables
  if (tables.length === 0) {
    return <Text size="sm">There is no table that this user may see. Grant it the right to select from some.</Text>
  }
  return (
    <Stack gap="xs">
      <Title order={3}>Tables in the source</Title>
      {isLong && (
        <TextInput
          aria-label="Find a table"
          placeholder="Find a table"
          leftSection={<SearchIcon size={16} />}
          value={filter}
          onChange={({ currentTarget }) => setFilter(currentTarget.value)}
          autoComplete="off"
          spellCheck={false}
          maw={360}
        />
      )}
      <Text size="xs" c="dimmed" role="status">
        {isLong && countText(shown.length, tables.length)} {added}
      </Text>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable areas must be focusable by keyboard. */}
      <ul className="edit-pipe-tables" aria-label="Tables in the source" tabIndex={0}>
        {shown.map((table) => (
          <FoundTable
            key={JSON.stringify([table.sourceSchemaName, table.sourceTable])}
            table={table}
            isMapped={mapped.some((one) => isSameTable(one, table))}
            onAdd={() => {
              onAdd(table)
              setAdded(`${tableTitle(table)} was added.`)
            }}
          />
        ))}
      </ul>
    </Stack>
  )
}

function countText(shownCount: number, count: number): string {
  const most = count === mostTables ? 'the first ' : ''
  const text = `${most}${count.toLocaleString('en')} ${count === 1 ? 'table' : 'tables'}.`
  return shownCount === count ? text.charAt(0).toUpperCase() + text.slice(1) : `${shownCount} of ${text}`
}

function FoundTable({ table, isMapped, onAdd }: { table: AvailableTable; isMapped: boolean; onAdd: () => void }) {
  const name = tableTitle(table)
  return (
    <li>
      <div>
        <Text size="sm">{name}</Text>
        <Text size="xs" c="dimmed">
          {table.primaryKey.length > 0 ? `Primary key: ${table.primaryKey.join(', ')}` : 'No primary key'}
        </Text>
      </div>
      <Button
        variant="subtle"
        size="compact-sm"
        aria-label={isMapped ? `${name} is added` : `Add ${name}`}
        {...(isMapped ? { 'data-disabled': true, 'aria-disabled': true } : { onClick: onAdd })}
      >
        {isMapped ? 'Added' : 'Add'}
      </Button>
    </li>
  )
}

/** Columns and sample rows of the mapped tables. */
export function MappedTables({ tables, mapped }: { tables: SourceTable[]; mapped: TableName[] }) {
  const shown = tables.filter((table) => mapped.some((one) => isSameTable(one, table)))
  const unknownCount = mapped.filter(
    (one) => one.sourceTable !== '' && !tables.some((table) => isSameTable(one, table)),
  ).length
  return (
    <Stack gap="md">
      {shown.map((table) => {
        const title = tableTitle(table)
        return (
          <More key={title} label={`What is in ${title}`} isOpenAtFirst={shown.length === 1}>
            <FieldsAndSample of={title} fieldsTitle="Columns" fields={table.fields} rows={table.rows} rowName="row" />
          </More>
        )
      })}
      {unknownCount > 0 && (
        <Text size="sm" c="dimmed">
          Check the connection again to see what is in{' '}
          {unknownCount === 1 ? 'the table that was added' : `the ${unknownCount} tables that were added`}.
        </Text>
      )}
    </Stack>
  )
}
