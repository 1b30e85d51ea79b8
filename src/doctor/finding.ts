// Result of a check: one line for people, one object for tools. Must not contain secrets.

export type Verdict = 'ok' | 'warning' | 'problem'

/** In the order in which the checks run. */
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
  /** What to do; set unless the verdict is `ok`. */
  remedy?: string
}

export type Report = (finding: Finding) => void

/** One of the errors that a check has found. */
export interface Issue {
  verdict: 'warning' | 'problem'
  found: string
  remedy: string
}

export function warning(found: string, remedy: string): Issue {
  return { verdict: 'warning', found, remedy }
}

export function problem(found: string, remedy: string): Issue {
  return { verdict: 'problem', found, remedy }
}

/** `found` is the text for a check without issues. */
export function toFinding(check: CheckName, found: string, issues: Issue[]): Finding {
  if (issues.length === 0) return { check, verdict: 'ok', found }
  const remedies = new Set(issues.map(({ remedy }) => remedy))
  return {
    check,
    verdict: issues.some(({ verdict }) => verdict === 'problem') ? 'problem' : 'warning',
    found: issues.map((issue) => issue.found).join('; '),
    remedy: [...remedies].join('; '),
  }
}

/** Text from API users with control characters replaced, for the terminal. */
export function printable(text: string): string {
  return `"${text.replaceAll(/\p{C}/gu, '?')}"`
}

/** An error message without its full stop, to continue the sentence. */
export function withoutStop(sentence: string): string {
  return sentence.replace(/\.$/, '')
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`
}
