import { Code, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import type { Activity } from '../../src/client/shapes.ts'
import { activityQuery } from '../api/queries.ts'
import { ActivitySentence, Actor, actorName } from '../components/activity-sentence.tsx'
import { activityTypeLabel } from '../components/activity-types.ts'
import { CopyText, CopyTextButton } from '../components/copy.tsx'
import { DiffTable } from '../components/diff.tsx'
import { exactTime } from '../components/exact-time.ts'
import { type Fact, Facts } from '../components/facts.tsx'
import { changesBetween, type FieldChange } from '../components/field-changes.ts'
import { LoadingPage } from '../components/loading.tsx'
import { Page } from '../components/page.tsx'
import { Section } from '../components/section.tsx'
import { Time } from '../components/time.tsx'

export function OneActivityPage() {
  const { organizationId, activityId } = useParams({ from: '/signed-in/o/$organizationId/activity/$activityId' })
  const { data } = useQuery(activityQuery(organizationId, activityId))
  if (!data) return <LoadingPage />
  const activity = data.result
  return (
    <Page
      title={activityTypeLabel(activity.type)}
      documentTitle={`${activityTypeLabel(activity.type)} by ${actorName(activity)}`}
      about={
        <>
          <Actor organizationId={organizationId} activity={activity} />{' '}
          <ActivitySentence organizationId={organizationId} activity={activity} />
        </>
      }
      crumbs={[{ label: 'Activity', to: `/o/${organizationId}/activity` }]}
      actions={<CopyTextButton text={location.href}>Copy the link</CopyTextButton>}
    >
      <Section title="Before and after">
        <DiffTable changes={activity.changes.flatMap(fieldByField)} />
      </Section>
      <Section title="Where it came from">
        <Facts facts={factsOf(organizationId, activity)} />
      </Section>
    </Page>
  )
}

/** Created and deleted objects are shown by field. */
function fieldByField(change: FieldChange): FieldChange[] {
  const { field, from, to } = change
  if (!isObject(from) && !isObject(to)) return [change]
  const parts = changesBetween(from ?? {}, to ?? {}, field)
  return parts.length === 0 ? [change] : parts
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function factsOf(organizationId: string, activity: Activity): Fact[] {
  const { type, createdAt, target, address, userAgent, requestId, id } = activity
  const kind = target.type.replaceAll('_', ' ')
  return [
    {
      label: 'When',
      value: (
        <>
          {exactTime(createdAt)}{' '}
          <Text span size="sm" c="dimmed">
            (<Time at={createdAt} />)
          </Text>
        </>
      ),
    },
    { label: 'By', value: <Actor organizationId={organizationId} activity={activity} /> },
    { label: 'Address', value: address ? <CopyText text={address} label="address" /> : 'not known' },
    { label: 'Client', value: userAgent || 'did not say what it is' },
    { label: 'Request id', value: <CopyText text={requestId} label="request id" /> },
    { label: 'Type', value: <Code>{type}</Code> },
    ...Object.entries(target)
      .filter(([name]) => name !== 'type')
      .map(([name, value]) => {
        const label = `Id of the ${name === 'id' ? kind : name.replace(/Id$/, '')}`
        return { label, value: <CopyText text={value} label={label.toLowerCase()} /> }
      }),
    { label: 'Id of the activity', value: <CopyText text={id} label="id of the activity" /> },
  ]
}
