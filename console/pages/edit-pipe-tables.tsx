// Tables of a postgres pipe, which can be added, removed or replaced.
import { Badge, Button, Group, Input, Stack, Text } from '@mantine/core'
import { useId } from 'react'
import type { TableMapping } from '../../src/client/shapes.ts'
import { otherErrors } from '../components/pipe-form/form-error.ts'
import { ListLabel } from '../components/pipe-form/list-parts.tsx'
import { isSameTable } from '../components/pipe-form/pipe-draft.ts'
import { TableMappingsEditor } from '../components/pipe-form/table-mappings-editor.tsx'
import type { SourcePart } from './edit-pipe-source.tsx'

const path = ['source', 'postgres']

export function EditPipeTables({ pipe, typed, editSource, error }: SourcePart) {
  const titleId = useId()
  const present = pipe.source.postgres!.tableMappings
  const { removedTables = [], addedTables = [] } = typed
  const isRemoved = (mapping: TableMapping) => removedTables.some((one) => isSameTable(one, mapping))
  const keep = (mapping: TableMapping) => removedTables.filter((one) => !isSameTable(one, mapping))
  const remove = ({ sourceSchemaName, sourceTable }: TableMapping) => [
    ...removedTables,
    { sourceSchemaName, sourceTable },
  ]
  const listError = [
    otherErrors(error, [...path, 'tableMappings'], []),
    otherErrors(error, [...path, 'tableMappingsToRemove'], []),
  ]
    .filter((text) => text !== undefined)
    .join('. ')
  return (
    <Stack gap="md">
      <Stack gap="xs" role="group" aria-labelledby={titleId}>
        <ListLabel id={titleId} label="Tables">
          To change a table, replace it: it is removed and added again in one step.
        </ListLabel>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable areas must be focusable by keyboard. */}
        <ul className="edit-pipe-tables" aria-label="Tables that the pipe has" tabIndex={0}>
          {present.map((mapping) => (
            <PresentTable
              key={JSON.stringify([mapping.sourceSchemaName, mapping.sourceTable])}
              mapping={mapping}
              isRemoved={isRemoved(mapping)}
              isReplaced={isRemoved(mapping) && addedTables.some((one) => isSameTable(one, mapping))}
              onKeep={() =>
                editSource({
                  removedTables: keep(mapping),
                  addedTables: addedTables.filter((one) => !isSameTable(one, mapping)),
                })
              }
              onRemove={() => editSource({ removedTables: remove(mapping) })}
              onReplace={() =>
                editSource({ removedTables: remove(mapping), addedTables: [...addedTables, { ...mapping }] })
              }
            />
          ))}
        </ul>
        {listError && <Input.Error role="alert">{listError}</Input.Error>}
      </Stack>
      <TableMappingsEditor
        label="Tables to add"
        about="Added after the removals."
        whenEmpty="None."
        addLabel="Add a table"
        value={addedTables}
        onChange={(added) => editSource({ addedTables: added })}
        error={error}
        path={[...path, 'tableMappingsToAdd']}
      />
    </Stack>
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
  const name = `${mapping.sourceSchemaName}.${mapping.sourceTable}`
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
          <Button variant="subtle" size="compact-sm" aria-label={`Keep ${name}`} onClick={onKeep}>
            Keep
          </Button>
        ) : (
          <>
            <Button variant="subtle" size="compact-sm" aria-label={`Replace ${name}`} onClick={onReplace}>
              Replace
            </Button>
            <Button variant="subtle" color="red" size="compact-sm" aria-label={`Remove ${name}`} onClick={onRemove}>
              Remove
            </Button>
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
