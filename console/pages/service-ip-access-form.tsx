import { ActionIcon, Alert, Button, Group, Stack, Table, Text, TextInput, Tooltip } from '@mantine/core'
import { useRef } from 'react'
import { PlusIcon, TrashIcon } from '../components/icons.tsx'
import { type ServiceEdit, ServiceForm, withField } from './service-edit.tsx'

export function IpAccessForm({ edit }: { edit: ServiceEdit }) {
  const { draft, setDraft, base } = edit
  const present = base.result.ipAccessList
  const { removedSources = [], addedSources = [] } = draft
  const remove = removedSources.map((source) => ({ source }))
  const staysEmpty = present.length === removedSources.length && addedSources.length === 0
  const addButton = useRef<HTMLButtonElement>(null)

  const setAdded = (added: typeof addedSources) =>
    setDraft(withField(draft, 'addedSources', added.length > 0 ? added : undefined))
  const setRemoved = (removed: string[]) =>
    setDraft(withField(draft, 'removedSources', removed.length > 0 ? removed : undefined))
  const setEntry = (index: number, part: Partial<(typeof addedSources)[number]>) =>
    setAdded(addedSources.map((entry, at) => (at === index ? { ...entry, ...part } : entry)))

  return (
    <ServiceForm
      edit={edit}
      title="IP access list"
      about="From where the engine may be used; an empty list means from everywhere. Penstock keeps the list with the service and does not change a firewall in front of the engine."
      fields={['removedSources', 'addedSources']}
      patch={{
        ipAccessList: {
          ...(addedSources.length > 0 ? { add: addedSources } : {}),
          ...(remove.length > 0 ? { remove } : {}),
        },
      }}
      changes={[
        ...removedSources.map((source) => ({
          field: `ipAccessList ${source}`,
          from: textOf(present.find((entry) => entry.source === source)?.description),
        })),
        ...addedSources.map(({ source, description }, index) => ({
          field: `ipAccessList ${source || `(new ${index + 1})`}`,
          to: textOf(description),
        })),
      ]}
      isComplete={addedSources.every(({ source }) => source !== '')}
      label="Save list"
      shownFields={[
        ...addedSources.flatMap((_, index) => [
          `ipAccessList/add/${index}/source`,
          `ipAccessList/add/${index}/description`,
        ]),
      ]}
    >
      {(errorAt) => (
        <>
          {present.length > 0 && (
            <Table verticalSpacing="xs">
              <Table.Caption className="visually-hidden">Addresses that may use the engine</Table.Caption>
              <Table.Thead>
                <Table.Tr>
                  <Table.Th scope="col">Address or range</Table.Th>
                  <Table.Th scope="col">Description</Table.Th>
                  <Table.Th scope="col" w={90}>
                    <span className="visually-hidden">Remove or keep</span>
                  </Table.Th>
                </Table.Tr>
              </Table.Thead>
              <Table.Tbody>
                {present.map(({ source, description }) => {
                  const isRemoved = removedSources.includes(source)
                  const td = isRemoved ? 'line-through' : undefined
                  return (
                    <Table.Tr key={source}>
                      <Table.Td ff="monospace" td={td} style={{ overflowWrap: 'anywhere' }}>
                        {source}
                      </Table.Td>
                      <Table.Td td={td} style={{ overflowWrap: 'anywhere' }}>
                        {description}
                      </Table.Td>
                      <Table.Td ta="right">
                        <Button
                          variant="subtle"
                          color={isRemoved ? 'gray' : 'red'}
                          size="compact-sm"
                          aria-label={`${isRemoved ? 'Keep' : 'Remove'} ${source}`}
                          onClick={() =>
                            setRemoved(
                              isRemoved ? removedSources.filter((one) => one !== source) : [...removedSources, source],
                            )
                          }
                        >
                          {isRemoved ? 'Keep' : 'Remove'}
                        </Button>
                      </Table.Td>
                    </Table.Tr>
                  )
                })}
              </Table.Tbody>
            </Table>
          )}
          {present.length === 0 && addedSources.length === 0 && (
            <Text size="sm">The list is empty: the engine may be used from everywhere.</Text>
          )}
          {addedSources.map(({ source, description }, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a row has no other name before it is saved.
            <Group key={index} align="flex-start" gap="sm">
              <TextInput
                label="Address or range"
                placeholder="203.0.113.0/24"
                required
                autoComplete="off"
                spellCheck={false}
                autoFocus
                flex="1 1 180px"
                value={source}
                onChange={({ currentTarget: { value } }) => setEntry(index, { source: value.trim() })}
                error={errorAt(`ipAccessList/add/${index}/source`)}
              />
              <TextInput
                label="Description"
                placeholder="Office"
                autoComplete="off"
                flex="1 1 180px"
                value={description}
                onChange={({ currentTarget: { value } }) => setEntry(index, { description: value })}
                error={errorAt(`ipAccessList/add/${index}/description`)}
              />
              <Tooltip label="Take this entry out again">
                <ActionIcon
                  variant="subtle"
                  color="gray"
                  size="lg"
                  mt={24}
                  aria-label={`Take ${source || `new entry ${index + 1}`} out again`}
                  onClick={() => {
                    setAdded(addedSources.filter((_, at) => at !== index))
                    addButton.current?.focus()
                  }}
                >
                  <TrashIcon size={18} />
                </ActionIcon>
              </Tooltip>
            </Group>
          ))}
          <Stack gap="md" align="flex-start">
            <Button
              ref={addButton}
              variant="default"
              size="xs"
              leftSection={<PlusIcon size={14} />}
              onClick={() => setAdded([...addedSources, { source: '', description: '' }])}
            >
              Add an address
            </Button>
            {present.length > 0 && staysEmpty && (
              <Alert color="orange" variant="light" title="The list will be empty" role="status">
                The engine may then be used from everywhere.
              </Alert>
            )}
          </Stack>
        </>
      )}
    </ServiceForm>
  )
}

function textOf(description: string | undefined): string {
  return description ? description : '(no description)'
}
