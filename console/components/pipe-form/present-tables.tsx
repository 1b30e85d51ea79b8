// Tables that a postgres pipe has: they can be removed or replaced.
import { Badge, Button, Group, Input, Text } from '@mantine/core'
import type { TableMapping } from '../../../src/client/shapes.ts'
import type { FormProps } from './field-input.tsx'
import { LabelledGroup } from './field-section.tsx'
import { otherErrors } from './form-error.ts'
import { addedTables, addedTablesPointer, isSameTable, removedTables, removedTablesPointer } from './pipe-draft.ts'
import { tableTitle } from './table-mapping.ts'

export function PresentTables({ draft, edit, error }: FormProps) {
  const removed = removedTables(draft)
  const added = addedTables(draft)
  const errors = ['source/postgres/tableMappings', removedTablesPointer].map((path) => otherErrors(error, [path], []))
  const listError = errors.filter((text) => text !== undefined).join('. ')
  return (
    <LabelledGroup label="Tables" about="To change a table, replace it: it is removed and added again in one step.">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable areas must be focusable by keyboard. */}
      <ul className="edit-pipe-tables" aria-label="Tables that the pipe has" tabIndex={0}>
        {draft.pipe!.source.postgres!.tableMappings.map((mapping) => {
          const { sourceSchemaName, sourceTable } = mapping
          const others = <Table extends typeof mapping | (typeof removed)[number]>(tables: Table[]) =>
            tables.filter((one) => !isSameTable(one, mapping))
          const isIn = (tables: (typeof removed)[number][]) => tables.some((one) => isSameTable(one, mapping))
          const withRemoval = { [removedTablesPointer]: [...others(removed), { sourceSchemaName, sourceTable }] }
          return (
            <PresentTable
              key={JSON.stringify([sourceSchemaName, sourceTable])}
              mapping={mapping}
              isRemoved={isIn(removed)}
              isReplaced={isIn(removed) && isIn(added)}
              onKeep={() =>
                edit({
                  [removedTablesPointer]: others(removed),
                  [addedTablesPointer(draft)]: added.filter((one) => !isSameTable(one, mapping)),
                })
              }
              onRemove={() => edit(withRemoval)}
              onReplace={() => edit({ ...withRemoval, [addedTablesPointer(draft)]: [...added, { ...mapping }] })}
            />
          )
        })}
      </ul>
      {listError && <Input.Error role="alert">{listError}</Input.Error>}
    </LabelledGroup>
  )
}

function PresentTable({
  mapping,
  isRemoved,
  isReplaced,
  onKeep,
  onRemove,
  onReplace,
}: {
  mapping: TableMapping
  isRemoved: boolean
  isReplaced: boolean
  onKeep: () => void
  onRemove: () => void
  onReplace: () => void
}) {
  const name = tableTitle(mapping)
  const button = (verb: string, onClick: () => void, color?: string) => (
    <Button variant="subtle" color={color} size="compact-sm" aria-label={`${verb} ${name}`} onClick={onClick}>
      {verb}
    </Button>
  )
  return (
    <li>
      <div>
        <Group gap={6}>
          <Text size="sm" td={isRemoved ? 'line-through' : undefined}>
            {name} → {mapping.targetTable}
          </Text>
          {isRemoved && (
            <Badge variant="light" color={isReplaced ? 'gray' : 'red'} className="state-badge">
              {isReplaced ? 'Replaced' : 'Removed'}
            </Badge>
          )}
        </Group>
        <Text size="xs" c="dimmed">
          {factsOf(mapping)}
        </Text>
      </div>
      <Group gap={4} wrap="nowrap">
        {isRemoved ? (
          button('Keep', onKeep)
        ) : (
          <>
            {button('Replace', onReplace)}
            {button('Remove', onRemove, 'red')}
          </>
        )}
      </Group>
    </li>
  )
}

function factsOf({ tableEngine, useCustomSortingKey, sortingKeys, excludedColumns }: TableMapping): string {
  const facts: string[] = [tableEngine]
  if (useCustomSortingKey) facts.push(`sorted by ${sortingKeys.join(', ')}`)
  if (excludedColumns.length > 0) facts.push(`without ${excludedColumns.join(', ')}`)
  return facts.join(', ')
}
