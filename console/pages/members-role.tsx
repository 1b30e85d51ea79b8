import { Radio, Stack, Text } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import type { Member } from '../../src/client/shapes.ts'
import { fieldError, useChange } from '../api/change.ts'
import type { ApiCall } from '../api/client.ts'
import { type Role, sessionQuery } from '../api/session.ts'
import { ChangeBar } from '../components/change-bar.tsx'
import { Dialog, useHoldOpen } from '../components/dialog.tsx'
import { ProblemNotice } from '../components/problem-notice.tsx'
import { roleChoices } from '../components/role.ts'

const withArticle: Record<Role, string> = { admin: 'an admin', developer: 'a developer' }

interface RoleQuestion {
  organizationId: string
  member: Member
  isSelf: boolean
  onClose: () => void
}

export function ChangeRole({ opened, ...question }: RoleQuestion & { opened: boolean }) {
  return (
    <Dialog opened={opened} onClose={question.onClose} title={`Role of ${question.member.name}`} size={540} centered>
      <RoleForm {...question} />
    </Dialog>
  )
}

function RoleForm({ organizationId, member, isSelf, onClose }: RoleQuestion) {
  const { userId, name } = member
  const queries = useQueryClient()
  const [role, setRole] = useState<Role>(member.role)
  const change = useChange<Member>({
    organizationId,
    doneText: `${name} is now ${withArticle[role]}`,
    onDone: async () => {
      onClose()
      if (isSelf) await queries.invalidateQueries(sessionQuery)
    },
  })
  useHoldOpen(change.isSending)
  const call: ApiCall<Member> = (api) => api.updateMember({ organizationId, userId }, { role })
  const isSame = role === member.role
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (!isSame) void change.send(call)
  }
  return (
    <form onSubmit={submit}>
      <Stack>
        <Radio.Group
          label="Role"
          value={role}
          onChange={(value) => {
            change.reset()
            setRole(value as Role)
          }}
          error={fieldError(change.error, 'role')}
        >
          <Stack gap="xs" mt={6}>
            {roleChoices.map(({ value, label, description }) => (
              <Radio
                key={value}
                value={value}
                label={label}
                description={description}
                data-autofocus={value === member.role || undefined}
              />
            ))}
          </Stack>
        </Radio.Group>
        {isSelf && role === 'developer' && (
          <Text size="sm">
            You can still read everything in this organization, but no longer change anything. Only another admin can
            make you an admin again.
          </Text>
        )}
        <ProblemNotice
          error={change.error}
          shownFields={['role']}
          title={`${name} is still ${withArticle[member.role]}`}
        />
        <ChangeBar
          call={call}
          label="Change role"
          isSending={change.isSending}
          isSubmit
          onCancel={onClose}
          disabled={isSame}
          isNothingChanged={isSame}
        />
      </Stack>
    </form>
  )
}
