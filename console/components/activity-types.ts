// Labels of activity types, for the filter and for activities without a sentence.
export const activityTypes: { group: string; types: Record<string, string> }[] = [
  {
    group: 'Organization and members',
    types: {
      organization_updated: 'Organization renamed',
      member_role_changed: 'Role of a member changed',
      member_removed: 'Member removed',
      invitation_created: 'Invitation sent',
      invitation_accepted: 'Invitation accepted',
      invitation_deleted: 'Invitation taken back',
    },
  },
  {
    group: 'API keys',
    types: {
      key_created: 'Key created',
      key_updated: 'Key changed',
      key_rotated: 'Key rotated',
      key_deleted: 'Key deleted',
    },
  },
  {
    group: 'Services',
    types: {
      service_created: 'Service registered',
      service_updated: 'Service changed',
      service_deleted: 'Service removed',
      private_endpoint_created: 'Private endpoint attached',
      private_endpoint_deleted: 'Private endpoint detached',
    },
  },
  {
    group: 'Pipes',
    types: {
      pipe_created: 'Pipe created',
      pipe_updated: 'Pipe changed',
      pipe_password_tried: 'Stored password of a pipe tried at another host',
      pipe_settings_updated: 'Pipe settings changed',
      pipe_scaled: 'Pipe scaled',
      pipe_state_changed: 'Pipe started, stopped or resynced',
      pipe_errors_replayed: 'Rejected rows retried',
      pipe_deleted: 'Pipe deleted',
    },
  },
]

/** Unknown types (of a newer Penstock) are shown by name. */
export function activityTypeLabel(type: string): string {
  const label = activityTypes.map(({ types }) => types[type]).find((found) => found !== undefined)
  return label ?? type.replaceAll('_', ' ')
}
