// The role of a member, changed in place.
import { Box, Group, Loader, Select, Stack, Text, Tooltip } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useId, useState } from 'react'
import type { PenstockError } from '../../src/client/error.ts'
import type { Member } from '../../src/client/shapes.ts'
import { useChange } from '../api/change.ts'
import type { ApiCall } from '../api/client.ts'
import { type Role, sessionQuery } from '../api/session.ts'
import { CurlButton } from '../components/change-bar.tsx'
import { Confirm } from '../components/confirm.tsx'
import { DoneText } from '../components/done-text.tsx'
import { useLasting } from '../components/loading.tsx'
import { roleChoices } from '../components/role.ts'

const withArticle: Record<Role, string> = { admin: 'an admin', developer: 'a developer' }
const otherRole: Record<Role, Role> = { admin: 'developer', developer: 'admin' }

export interface RoleRefusal {
  title: string
  error: PenstockError
}

export function MemberRole({
  organizationId,
  member,
  isSelf,
  onRefusal,
  whyNot,
}: {
  organizationId: string
  member: Member
  isSelf: boolean
  /** There is no room for a sentence in the row. */
  onRefusal: (refusal: RoleRefusal | undefined) => void
  /** Why it cannot be changed. */
  whyNot: { short: string | undefined; reason: string } | undefined
}) {
  const { userId, name, role } = member
  const reasonId = useId()
  const queries = useQueryClient()
  const [wanted, setWanted] = useState<Role>()
  const [changedTo, setChangedTo] = useState<Role>()
  const [isAsking, setAsking] = useState(false)
  const done = async (to: Role) => {
    setChangedTo(to)
    if (isSelf) await queries.invalidateQueries(sessionQuery)
  }
  const change = useChange<Member>({ organizationId, onDone: ({ result }) => done(result.role) })
  // biome-ignore lint/correctness/useExhaustiveDependencies: told once for each answer.
  useEffect(() => {
    if (change.error) onRefusal({ error: change.error, title: `${name} is still ${withArticle[role]}` })
  }, [change.error])
  const waits = useLasting(change.isSending)
  const callFor =
    (to: Role): ApiCall<Member> =>
    (api) =>
      api.updateMember({ organizationId, userId }, { role: to })
  const choose = async (to: Role) => {
    if (to === role || change.isSending) return
    setChangedTo(undefined)
    onRefusal(undefined)
    if (isSelf && to === 'developer') return setAsking(true)
    setWanted(to)
    await change.send(callFor(to))
    setWanted(undefined)
  }
  const next = otherRole[role]
  return (
    <Stack gap={0}>
      <Group gap={4} wrap="nowrap">
        <Tooltip label={whyNot?.reason} disabled={!whyNot} multiline maw={260}>
          <Box w={150}>
            <Select
              aria-label={`Role of ${name}`}
              aria-describedby={whyNot ? reasonId : undefined}
              size="sm"
              data={roleChoices.map(({ value, label }) => ({ value, label }))}
              value={wanted ?? role}
              onChange={(to) => to && void choose(to as Role)}
              allowDeselect={false}
              disabled={whyNot !== undefined}
              rightSection={waits ? <Loader size={14} /> : undefined}
              // What cannot be changed can still be read.
              styles={whyNot && { input: { opacity: 1, color: 'var(--mantine-color-text)' } }}
            />
          </Box>
        </Tooltip>
        {!whyNot && <CurlButton call={callFor(next)} iconFor={`make ${name} ${withArticle[next]}`} />}
      </Group>
      {whyNot && (
        <Text size="xs" c="dimmed" id={reasonId} mt={whyNot.short ? 4 : 0}>
          {whyNot.short}
          <span className="visually-hidden">
            {whyNot.short && '. '}
            {whyNot.reason}
          </span>
        </Text>
      )}
      <Box mt={changedTo ? 4 : 0}>
        <DoneText isShown={changedTo !== undefined} size="xs">
          Changed to {changedTo}
        </DoneText>
      </Box>
      <Confirm
        organizationId={organizationId}
        opened={isAsking}
        onClose={() => setAsking(false)}
        title="Make yourself a developer?"
        label="Make me a developer"
        call={callFor('developer')}
        onDone={({ result }) => done(result.role)}
      >
        You can still read everything in this organization, but change nothing any more. Only another admin can make you
        an admin again.
      </Confirm>
    </Stack>
  )
}
