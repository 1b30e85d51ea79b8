// Pages of lists, the newest item first. The cursor for the next page has the values of the last row, not a count, so that concurrent
// inserts and deletes neither repeat nor hide rows.
import { Problem } from './problem.ts'
import { type Static, Type } from './schema.ts'

const defaultLimit = 100

/** The query parameters of every list. */
export const pageQuery = {
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 1000,
      default: defaultLimit,
      description: 'Maximum number of items in the response.',
    }),
  ),
  cursor: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 1024,
      description: 'Position of the page, from the `Link` header of the previous page.',
    }),
  ),
}

export const PageQuery = Type.Object(pageQuery, { additionalProperties: false })
export type PageQuery = Static<typeof PageQuery>

/** A page begins after the row with these values, in list order. */
export type After = [at: string, id: string]

/** Before the newest row. */
const newest: After = ['9999-12-31T23:59:59.999Z', '']

export interface Page {
  /** Rows to load: one more than the page has, to detect whether there is a next page. */
  rows: number
  after: After
}

export function readPage(query: PageQuery): Page {
  return { rows: (query.limit ?? defaultLimit) + 1, after: query.cursor ? decodeCursor(query.cursor) : newest }
}

/** Maximum size of a page, unless a single item is larger: no list may use the time and memory of other requests. */
const mostBytes = 4 * 1_048_576

/** Number of items from the first on within the limit; at least one. */
function fittingCount(sizes: number[]): number {
  let total = 0
  const tooMany = sizes.findIndex((bytes) => {
    total += bytes
    return total > mostBytes
  })
  return tooMany < 0 ? sizes.length : Math.max(1, tooMany)
}

/** The page, shortened when its items are large; the cursor continues after them. */
export function shortened(page: Page, sizes: number[]): Page {
  const requested = page.rows - 1
  const fitting = fittingCount(sizes.slice(0, requested))
  return fitting < Math.min(requested, sizes.length) ? { ...page, rows: fitting + 1 } : page
}

/** Removes the extra row, and returns the cursor of the next page. */
export function pageOf<Row>(page: Page, rows: Row[], keyOf: (row: Row) => After): { rows: Row[]; next?: string } {
  if (rows.length < page.rows) return { rows }
  const shown = rows.slice(0, -1)
  return { rows: shown, next: encodeCursor(keyOf(shown.at(-1)!)) }
}

const isPlainText = (part: unknown): boolean => typeof part === 'string' && /^[ -~]*$/.test(part)

function encodeCursor(after: After): string {
  return Buffer.from(JSON.stringify(after)).toString('base64url')
}

function decodeCursor(text: string): After {
  try {
    const after: unknown = JSON.parse(Buffer.from(text, 'base64url').toString('utf8'))
    const isAfter = Array.isArray(after) && after.length === 2 && after.every(isPlainText)
    // Only cursors that encode to the same text were issued here.
    if (isAfter && encodeCursor(after as After) === text) return after as After
  } catch {
    // Reported below.
  }
  const detail = 'cursor must be a value from the Link header of a page'
  throw new Problem('invalid_query', detail, { fields: [{ path: 'cursor', detail }] })
}
