// The string formats of shapes.

const uuid = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i

const mailbox = "[a-z0-9!#$%&'*+/=?^_`{|}~-]+"

const hostLabel = '[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?'

const email = new RegExp(`^${mailbox}(?:\\.${mailbox})*@${hostLabel}(?:\\.${hostLabel})*$`, 'i')

const day = '\\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\\d|3[01])'

const hourAndMinute = '(?:[01]\\d|2[0-3]):[0-5]\\d'

const dateTime = new RegExp(`^${day}T${hourAndMinute}:[0-5]\\d(?:\\.\\d{1,9})?(?:Z|[+-]${hourAndMinute})$`)

export const formats: Record<string, { hint: string; accepts(text: string): boolean }> = {
  uuid: { hint: 'a uuid', accepts: (text) => uuid.test(text) },
  email: { hint: 'an email address', accepts: (text) => text.length <= 254 && email.test(text) },
  'date-time': {
    hint: 'a date and time such as 2026-01-31T12:00:00Z',
    accepts: (text) => dateTime.test(text) && isCalendarDay(text.slice(0, 10)),
  },
}

/** Rejects February 30, which Date reads as March 2. */
function isCalendarDay(day: string): boolean {
  const midnight = new Date(`${day}T00:00:00Z`)
  return !Number.isNaN(midnight.getTime()) && midnight.toISOString().startsWith(day)
}
