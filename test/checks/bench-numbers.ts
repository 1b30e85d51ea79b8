// Numbers of bench/RESULTS.md and bench/PIPES.md as the documentation quotes them.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Rows of the tables of a result file, by column; empty leading cells repeat those above. */
function rowsOf(file: string): Record<string, string>[] {
  let header: string[] | undefined
  let group: string[] = []
  return readFileSync(join(import.meta.dirname, '../..', file), 'utf8')
    .split('\n')
    .flatMap((line) => {
      if (!line.startsWith('| ')) {
        if (!line.startsWith('|---')) header = undefined
        return []
      }
      const cells = line
        .slice(1, line.lastIndexOf('|'))
        .split('|')
        .map((cell) => cell.trim())
      if (header === undefined) {
        header = cells
        return []
      }
      if (cells[0] === '') cells.splice(0, 1, group[0]!)
      if (cells[1] === '') cells[1] = group[1]!
      group = cells
      return [Object.fromEntries(header.map((name, index) => [name, cells[index]!]))]
    })
}

const results = rowsOf('bench/RESULTS.md')
const pipes = rowsOf('bench/PIPES.md')

/** What Penstock reached, of a promise: "0.74", "2.23 ×". */
export const measured = (promise: string): string =>
  [...results, ...pipes].find((row) => row.promise?.startsWith(promise))!.measured!.replace(/ .*/, '')
export const perSecond = (operation: string, contender: string): string =>
  results.find(
    (row) => row.operation === operation && row.contender?.startsWith(contender) && row.connections === '32',
  )!['requests/s']!
/** Thousands of rows per second, and CPU seconds, as a page rounds them. */
export const pipeRow = (source: string, engine: string): string => {
  const row = pipes.find(
    (one) =>
      one['from, into']?.startsWith(source) && one['from, into'].includes(engine) && one.contender === 'Penstock',
  )!
  const rows = Math.round(Number(row['rows/s']!.replaceAll(',', '')) / 1_000) * 1_000
  return `${Number(row['CPU s per million rows']).toFixed(1)} | ${rows.toLocaleString('en')} |`
}
