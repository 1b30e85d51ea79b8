// An account is a person who can sign in: the same one in every organization that they are a member of.
import type { FieldProblem } from '../lib/problem.ts'
import { Type } from '../lib/schema.ts'

const longestName = 100

export const AccountName = Type.String({
  minLength: 1,
  maxLength: longestName,
  pattern: '\\S',
  patternHint: 'text with something to read',
  description: 'As other members see it.',
})

const shortestPassword = 12
const longestPassword = 256

/** The rules of a new password are told by `passwordProblems`: only its greatest length is part of the shape. */
export const NewPassword = Type.String({ maxLength: longestPassword, secret: true, writeOnly: true })

export const CurrentPassword = Type.String({ maxLength: longestPassword, secret: true, writeOnly: true })

/** With their letters as they are after `plainLetters`. */
const onlyCommonWords =
  /^(?:password|passwort|passphrase|penstock|administrator|admin|welcome|letmein|changeme|iloveyou|qwerty|azerty|secret|monkey|dragon|login|test)+$/

/** What is typed by moving a finger along. */
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
 * What is wrong with a password that somebody wants to have, as sentences about the field that it was sent in. There are no
 * rules of composition: they make passwords worse. What must stay out is what everybody tries first.
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
    return refuse('must not be a common word with digits or signs added: it is among the first that are guessed')
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

/** Letters behind the signs that people write for them, and nothing else. */
function plainLetters(text: string): string {
  return text.replaceAll(/[^a-z]/g, (sign) => disguises[sign] ?? '')
}

/** A name that a provider gave, so that it fits; undefined when nothing of it is left. */
export function nameOf(text: string | undefined): string | undefined {
  const name = text?.replaceAll(/[\p{Cc}\p{Cf}\p{Cs}]+/gu, ' ').trim() ?? ''
  return name === '' ? undefined : [...name].slice(0, longestName).join('').trim()
}
