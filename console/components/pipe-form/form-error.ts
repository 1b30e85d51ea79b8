// Looks up API errors by their pointers.
import type { PenstockError } from '../../../src/client/error.ts'
import { fieldError } from '../../api/change.ts'

export type FormError = PenstockError | null | undefined
export type Path = (string | number)[]

const pointerOf = (path: Path): string => path.join('/')

/** Error of one field: `errorOf(error, 'source', 'kafka', 'credentials', 'password')`. */
export function errorOf(error: FormError, ...path: Path): string | undefined {
  return fieldError(error, pointerOf(path))
}

/** Pointers of all errors at or below a field; for `shownFields` of `ProblemNotice`. */
export function pointersBelow(error: FormError, ...path: Path): string[] {
  const field = pointerOf(path)
  return (error?.errors ?? [])
    .map(({ pointer }) => pointer.replace(/^#\//, ''))
    .filter((pointer) => pointer === field || pointer.startsWith(`${field}/`))
}

/** Errors at or below a field, except those of parts that show their own. */
export function otherErrors(error: FormError, path: Path, shownParts: Path[]): string | undefined {
  const shown = new Set(shownParts.map((part) => pointerOf([...path, ...part])))
  const details = pointersBelow(error, ...path)
    .filter((pointer) => !shown.has(pointer))
    .map((pointer) => fieldError(error, pointer))
  return details.length > 0 ? [...new Set(details)].join('. ') : undefined
}
