// The destination tables in a list of pipes.
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
      {first}
      {others.length > 0 && <div className="row-more">and {others.length} more</div>}
    </>
  )
}
