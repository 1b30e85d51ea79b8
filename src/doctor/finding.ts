// What a check has to say: one line for people, one object for tools. Nothing secret may be put into one.

export type Verdict = 'ok' | 'warning' | 'problem'

/** In the order in which they are made. */
export const checkNames = [
  'settings',
  'listening',
  'data folder',
  'file system',
  'disk sync',
  'free space',
  'open files',
  'memory',
  'master key file',
  'key strength',
  'database',
  'durability',
  'transactions',
  'connections',
  'schema',
  'clock',
  'sealed values',
  'audit chain',
  'pipes',
  'runners',
  'egress',
  'engines',
  'sign-in provider',
] as const
export type CheckName = (typeof checkNames)[number]

export interface Finding {
  check: CheckName
  verdict: Verdict
  found: string
  /** What to do; of everything that is not ok. */
  remedy?: string
}

export type Tell = (finding: Finding) => void

/** One thing that is wrong, of the several that a check looks at. */
export interface Complaint {
  verdict: 'warning' | 'problem'
  found: string
  remedy: string
}

export function warning(found: string, remedy: string): Complaint {
  return { verdict: 'warning', found, remedy }
}

export function problem(found: string, remedy: string): Complaint {
  return { verdict: 'problem', found, remedy }
}

/** `found` is told when there is nothing to complain about. */
export function judge(check: CheckName, found: string, complaints: Complaint[]): Finding {
  if (complaints.length === 0) return { check, verdict: 'ok', found }
  const remedies = new Set(complaints.map(({ remedy }) => remedy))
  return {
    check,
    verdict: complaints.some(({ verdict }) => verdict === 'problem') ? 'problem' : 'warning',
    found: complaints.map((complaint) => complaint.found).join('; '),
    remedy: [...remedies].join('; '),
  }
}

/** Text that a user of the API chose, for a terminal that would obey control characters. */
export function printable(text: string): string {
  return `"${text.replaceAll(/\p{C}/gu, '?')}"`
}

/** Of an error that was made for people, without the full stop: it goes on in our sentence. */
export function withoutStop(sentence: string): string {
  return sentence.replace(/\.$/, '')
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`
}
