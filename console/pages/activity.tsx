import { Button, Group, NativeSelect, TextInput } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import { useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { useMemo, useState } from 'react'
import type { Activity } from '../../src/client/shapes.ts'
import { activitiesQuery } from '../api/queries.ts'
import { ActivitySentence, Actor } from '../components/activity-sentence.tsx'
import { activityTypeLabel, activityTypes } from '../components/activity-types.ts'
import { CopyIconButton } from '../components/copy.tsx'
import { EmptyState } from '../components/empty-state.tsx'
import { type Column, itemsOf, ListTable } from '../components/list-table.tsx'
import { Page } from '../components/page.tsx'
import { ReadProblem } from '../components/problem-notice.tsx'
import { RowLink } from '../components/row-parts.tsx'
import { Time } from '../components/time.tsx'

const route = '/signed-in/o/$organizationId/activity'

interface Filter {
  type?: string
  from?: string
  to?: string
}

export function ActivityPage() {
  const { organizationId } = useParams({ from: route })
  const search = useSearch({ from: route })
  const navigate = useNavigate()
  const setFilter = (change: Filter) =>
    void navigate({
      to: '/o/$organizationId/activity',
      params: { organizationId },
      search: { ...search, ...change },
      replace: true,
    })
  const clear = () => setFilter({ type: undefined, from: undefined, to: undefined })
  const isFiltered = search.type !== undefined || search.from !== undefined || search.to !== undefined
  const filter = { type: search.type, from_date: startOfDay(search.from), to_date: startOfDay(search.to, 1) }
  // The error of a refused filter is shown next to its fields.
  const query = useInfiniteQuery({ ...activitiesQuery(organizationId, filter), throwOnError: false })
  const columns = useMemo(() => columnsFor(organizationId), [organizationId])
  return (
    <Page
      title="Activity"
      about="Every change that was made in the organization, by whom and from where. Activities are never changed or removed."
    >
      <FilterBar search={search} setFilter={setFilter} clear={isFiltered ? clear : undefined} />
      {query.error && !query.data ? (
        <ReadProblem error={query.error} title="The activities could not be read" />
      ) : (
        <ListTable
          caption="Activities of the organization, the newest first"
          items={itemsOf(query)}
          columns={columns}
          keyOf={({ id }) => id}
          query={query}
          minWidth={760}
          empty={
            isFiltered ? (
              <EmptyState
                title="Nothing matches"
                action={
                  <Button variant="default" onClick={clear}>
                    Show all activities
                  </Button>
                }
              >
                No activity of this type was recorded in these days.
              </EmptyState>
            ) : (
              <EmptyState title="Nothing has been changed yet">
                Every change, made here or through the API, is listed here: who did it, what they changed, from where,
                and the id of the request.
              </EmptyState>
            )
          }
        />
      )}
    </Page>
  )
}

function FilterBar({
  search,
  setFilter,
  clear,
}: {
  search: Filter
  setFilter: (change: Filter) => void
  clear: (() => void) | undefined
}) {
  const isKnown = activityTypes.some(({ types }) => search.type !== undefined && search.type in types)
  return (
    <Group gap="sm" align="flex-end" component="search">
      <NativeSelect
        label="What was done"
        w={{ base: '100%', xs: 280 }}
        value={search.type ?? ''}
        onChange={(event) => setFilter({ type: event.currentTarget.value || undefined })}
        data={[
          { value: '', label: 'Everything' },
          ...(search.type !== undefined && !isKnown
            ? [{ value: search.type, label: activityTypeLabel(search.type) }]
            : []),
          ...activityTypes.map(({ group, types }) => ({
            group,
            items: Object.entries(types).map(([value, label]) => ({ value, label })),
          })),
        ]}
      />
      <DayInput label="From" value={search.from} max={search.to} onChange={(from) => setFilter({ from })} />
      <DayInput label="To" value={search.to} min={search.from} onChange={(to) => setFilter({ to })} />
      {clear && (
        <Button variant="subtle" onClick={clear}>
          Clear the filter
        </Button>
      )}
    </Group>
  )
}

/** A day is not used as a filter while its year is being typed, such as 0002. */
function DayInput({
  label,
  value = '',
  min,
  max,
  onChange,
}: {
  label: string
  value: string | undefined
  min?: string | undefined
  max?: string | undefined
  onChange: (day: string | undefined) => void
}) {
  const [text, setText] = useState(value)
  const [shown, setShown] = useState(value)
  if (shown !== value) {
    setShown(value)
    setText(value)
  }
  const take = (day: string): void => {
    if (day !== value) onChange(day || undefined)
  }
  return (
    <TextInput
      type="date"
      label={label}
      value={text}
      min={min}
      max={max}
      onChange={({ currentTarget: { value: day } }) => {
        setText(day)
        if (/^\d{4}-/.test(day) && day >= '2000') take(day)
      }}
      onBlur={() => take(text)}
    />
  )
}

/** Start of a day in local time, optionally some days later; undefined for an invalid day. */
function startOfDay(day: string | undefined, daysLater = 0): string | undefined {
  const parts = /^(\d{4})-(\d\d)-(\d\d)$/.exec(day ?? '')
  if (!parts) return undefined
  const [, year, month, date] = parts.map(Number)
  return new Date(year!, month! - 1, date! + daysLater).toISOString()
}

function columnsFor(organizationId: string): Column<Activity>[] {
  return [
    {
      label: 'Who',
      width: '22%',
      cell: (activity) => <Actor organizationId={organizationId} activity={activity} />,
    },
    {
      label: 'What',
      cell: (activity) => <ActivitySentence organizationId={organizationId} activity={activity} />,
    },
    {
      label: 'When',
      width: 130,
      cell: ({ createdAt }) => <Time at={createdAt} />,
    },
    {
      label: 'Request',
      width: 120,
      cell: ({ requestId }) => (
        <span className="copy-text">
          <code>{requestId.slice(0, 8)}</code>
          <CopyIconButton text={requestId} label="request id" />
        </span>
      ),
    },
    {
      label: 'Details',
      isLabelHidden: true,
      align: 'right',
      width: 90,
      cell: ({ id, type }) => (
        <RowLink to={`/o/${organizationId}/activity/${id}`}>
          Details<span className="visually-hidden">{` of: ${activityTypeLabel(type)}`}</span>
        </RowLink>
      ),
    },
  ]
}
