// What the API says about a field stands where its pointer leads.
import type { PenstockError } from '../../../src/client/error.ts'
import { fieldError } from '../../api/change.ts'

export type FormError = PenstockError | null | undefined
export type Path = (string | number)[]

const pointerOf = (path: Path): string => path.join('/')

/** What the API says about one field: `errorOf(error, 'source', 'kafka', 'credentials', 'password')`. */
export function errorOf(error: FormError, ...path: Path): string | undefined {
  return fieldError(error, pointerOf(path))
}

/** What the API says about a field and everything in it; for `shownFields` of `ProblemNotice`. */
export function pointersBelow(error: FormError, ...path: Path): string[] {
  const field = pointerOf(path)
  return (error?.errors ?? [])
    .map(({ pointer }) => pointer.replace(/^#\//, ''))
    .filter((pointer) => pointer === field || pointer.startsWith(`${field}/`))
}

/** All that the API says about a field and what is in it, except about those parts that say it themselves. */
export function otherErrors(error: FormError, path: Path, shownParts: Path[]): string | undefined {
  const shown = new Set(shownParts.map((part) => pointerOf([...path, ...part])))
  const details = pointersBelow(error, ...path)
    .filter((pointer) => !shown.has(pointer))
    .map((pointer) => fieldError(error, pointer))
  return details.length > 0 ? [...new Set(details)].join('. ') : undefined
}
