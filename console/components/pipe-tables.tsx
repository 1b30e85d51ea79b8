// The destination tables in a list of pipes.
import { Fragment } from 'react'
import type { Pipe } from '../../src/client/shapes.ts'

/** Names as `database.table`. */
export function tablesOf({ source, destination: { database, table } }: Pipe): string[] {
  if (source.postgres) return source.postgres.tableMappings.map(({ targetTable }) => `${database}.${targetTable}`)
  return [table === undefined ? database : `${database}.${table}`]
}

export function PipeTables({ pipe }: { pipe: Pipe }) {
  const [first, ...others] = tablesOf(pipe)
  return (
    <>
      {first !== undefined && <FullName text={first} />}
      {others.length > 0 && <div className="row-more">and {others.length} more</div>}
    </>
  )
}

/** `database.table`, with line breaks after dots rather than inside of a word. */
function FullName({ text }: { text: string }) {
  const [start, ...rest] = text.split('.')
  return (
    <span>
      {start}
      {rest.map((part, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: parts have no other identity.
        <Fragment key={index}>
          .<wbr />
          {part}
        </Fragment>
      ))}
    </span>
  )
}
