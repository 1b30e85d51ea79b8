import { Group, Select, TextInput } from '@mantine/core'
import { useNavigate, useSearch } from '@tanstack/react-router'
import type { Service } from '../../src/client/shapes.ts'
import { SearchIcon } from '../components/icons.tsx'
import { kindNames, kinds } from '../components/pipe-fields.ts'
import { shownPipeStates } from '../components/pipe-state.ts'
import { stateLabel } from '../components/state-label.ts'
import { useSearchText } from '../components/use-search-text.ts'
import type { PipeFilter } from '../route-search.ts'

/** The filter is stored in the URL. */
export function PipeFilters({ organizationId, services }: { organizationId: string; services: Service[] }) {
  const filter = useSearch({ from: '/signed-in/o/$organizationId/pipes' })
  const navigate = useNavigate()
  const change = (changed: PipeFilter) =>
    void navigate({
      to: '/o/$organizationId/pipes',
      params: { organizationId },
      search: { ...filter, ...changed },
      replace: true,
    })
  const { typed, setTyped, send } = useSearchText(filter.text ?? '', (text) => change({ text: text || undefined }))
  return (
    <Group gap="sm" align="end" className="pipe-filters" role="search" aria-label="Filter pipes">
      <TextInput
        label="Search"
        placeholder="Name, table or id"
        leftSection={<SearchIcon size={16} />}
        value={typed}
        onChange={({ currentTarget: { value } }) => {
          setTyped(value)
          send(value.trim() === '' ? '' : value)
        }}
      />
      <Select
        label="State"
        placeholder="Every state"
        data={shownPipeStates.map((state) => ({ value: state, label: stateLabel(state) }))}
        value={filter.state ?? null}
        onChange={(state) => change({ state: state ?? undefined })}
        clearable
        clearButtonProps={{ 'aria-label': 'Clear the state' }}
      />
      <Select
        label="Kind"
        placeholder="Every kind"
        data={kindNames.map((kind) => ({ value: kind, label: kinds[kind].label }))}
        value={filter.kind ?? null}
        onChange={(kind) => change({ kind: kind ?? undefined })}
        clearable
        clearButtonProps={{ 'aria-label': 'Clear the kind' }}
      />
      <Select
        label="Service"
        placeholder="Every service"
        data={services.map(({ id, name }) => ({ value: id, label: name }))}
        value={filter.service ?? null}
        onChange={(service) => change({ service: service ?? undefined })}
        searchable={services.length > 8}
        clearable
        clearButtonProps={{ 'aria-label': 'Clear the service' }}
      />
    </Group>
  )
}
