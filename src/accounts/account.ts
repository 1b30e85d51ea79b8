// An account is a person who can sign in. One account serves all organizations of the person.
import type { FieldProblem } from '../lib/problem.ts'
import { Type } from '../lib/schema.ts'

const longestName = 100

export const AccountName = Type.String({
  minLength: 1,
  maxLength: longestName,
  pattern: '\\S',
  patternHint: 'text with visible characters',
  description: 'As other members see it.',
})

const shortestPassword = 12
const longestPassword = 256

/** `passwordProblems` checks the other rules. */
export const NewPassword = Type.String({ maxLength: longestPassword, secret: true, writeOnly: true })

export const CurrentPassword = Type.String({ maxLength: longestPassword, secret: true, writeOnly: true })

/** Matched against the result of `plainLetters`. */
const onlyCommonWords =
  /^(?:password|passwort|passphrase|penstock|administrator|admin|welcome|letmein|changeme|iloveyou|qwerty|azerty|secret|monkey|dragon|login|test)+$/

/** Keyboard and alphabet sequences, in both directions. */
const sequences = [
  'abcdefghijklmnopqrstuvwxyz',
  '01234567890',
  '1234567890',
  'qwertyuiopasdfghjklzxcvbnm',
  'qwertzuiopasdfghjklyxcvbnm',
  'azertyuiopqsdfghjklmwxcvbn',
  '1qaz2wsx3edc4rfv5tgb6yhn7ujm8ik,9ol.0p',
]
  .flatMap((sequence) => [sequence, [...sequence].reverse().join('')])
  .map((sequence) => sequence.repeat(Math.ceil(longestPassword / sequence.length) + 1))

/**
 * Validates a new password; `path` names the field that it was sent in. There are no composition rules, because they make passwords
 * worse. Only passwords that attackers try first are rejected.
 */
export function passwordProblems(path: string, password: string, email: string): FieldProblem[] {
  const length = [...password].length
  const lower = password.toLowerCase()
  const refuse = (sentence: string): FieldProblem[] => [{ path, detail: `${path} ${sentence}` }]
  if (length < shortestPassword || length > longestPassword) {
    return refuse(`must have ${shortestPassword} to ${longestPassword} characters`)
  }
  if (lower === email || lower === email.split('@')[0]) return refuse('must not be the email address')
  if (new Set(lower).size < 5) return refuse('must not repeat the same few characters')
  if (sequences.some((sequence) => sequence.includes(lower))) {
    return refuse('must not be a sequence of neighbouring letters, digits or keys')
  }
  if (
    onlyCommonWords.test(plainLetters(lower)) ||
    onlyCommonWords.test(plainLetters(/^[\s\S]*[a-z]/.exec(lower)?.[0] ?? ''))
  ) {
    return refuse('must not be a common word with digits or signs added: it is easy to guess')
  }
  return []
}

const disguises: Record<string, string> = {
  '@': 'a',
  '4': 'a',
  '3': 'e',
  '1': 'i',
  '!': 'i',
  '0': 'o',
  $: 's',
  '5': 's',
}

/** Replaces digits and signs by the letters that they stand for, and removes all others. */
function plainLetters(text: string): string {
  return text.replaceAll(/[^a-z]/g, (sign) => disguises[sign] ?? '')
}

/** A provider's name without control characters, cut to the maximum length; undefined when nothing is left. */
export function nameOf(text: string | undefined): string | undefined {
  const name = text?.replaceAll(/[\p{Cc}\p{Cf}\p{Cs}]+/gu, ' ').trim() ?? ''
  return name === '' ? undefined : [...name].slice(0, longestName).join('').trim()
}
