const exact = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium' })

export function exactTime(at: string): string {
  return exact.format(new Date(at))
}
