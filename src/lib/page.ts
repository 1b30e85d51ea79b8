// Lists are given in pages, the newest first. A page ends with a cursor that says where the next one begins: by the values
// of the last row, not by a count, so that rows which come or go meanwhile neither repeat nor hide others.
import { Problem } from './problem.ts'
import { type Static, Type } from './schema.ts'

const defaultLimit = 100

/** The query parameters of every list. */
export const pageQuery = {
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 1000, default: defaultLimit, description: 'Most items in the answer.' }),
  ),
  cursor: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 1024,
      description: 'Where to go on: as the `Link` header of the page before gave it.',
    }),
  ),
}

export const PageQuery = Type.Object(pageQuery, { additionalProperties: false })
export type PageQuery = Static<typeof PageQuery>

/** Where a page begins: after the row with these values, in the order of the list. */
export type After = [at: string, id: string]

/** Newer than everything. */
const newest: After = ['9999-12-31T23:59:59.999Z', '']

export interface Page {
  /** Ask the store for one more than the page has: whether it is there tells whether there is a next page. */
  rows: number
  after: After
}

export function readPage(query: PageQuery): Page {
  return { rows: (query.limit ?? defaultLimit) + 1, after: query.cursor ? decodeCursor(query.cursor) : newest }
}

/**
 * What is read and sent at once, at most, unless a single item is larger: nobody's list may take the time and the memory of
 * everybody else.
 */
const mostBytes = 4 * 1_048_576

/** How many items, from the first on, may be read at once: at least one. */
function fittingCount(sizes: number[]): number {
  let total = 0
  const tooMany = sizes.findIndex((bytes) => {
    total += bytes
    return total > mostBytes
  })
  return tooMany < 0 ? sizes.length : Math.max(1, tooMany)
}

/** The page, cut short when its items are large; the cursor leads on all the same. */
export function shortened(page: Page, sizes: number[]): Page {
  const asked = page.rows - 1
  const fitting = fittingCount(sizes.slice(0, asked))
  return fitting < Math.min(asked, sizes.length) ? { ...page, rows: fitting + 1 } : page
}

/** Cuts off the row too many, and says where the next page begins. */
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
    // What we gave comes back to the letter; anything else was made up.
    if (isAfter && encodeCursor(after as After) === text) return after as After
  } catch {
    // Told below.
  }
  const detail = 'cursor must be one that the Link header of a page gave'
  throw new Problem('invalid_query', detail, { fields: [{ path: 'cursor', detail }] })
}
