// npm run chaos -- [--only R18,R18-postgres] [--minutes 10] [--seed 1] [--kills 300] [--engines old,modern]
// Long runs of what pipes.test.ts and pipes-postgres.test.ts in test/real do shortly. Prints a line of a Markdown table for each id;
// what failed leaves a folder behind with its history, its log and its database.
import { parseArgs } from 'node:util'
import { drills } from './drills.ts'
import { isExact } from './in-world.ts'
import { type EngineName, engineNames, makeServers } from './servers.ts'

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    minutes: { type: 'string' },
    seed: { type: 'string' },
    kills: { type: 'string' },
    engines: { type: 'string' },
  },
})
const number = (text: string | undefined, otherwise: number): number => {
  const read = text === undefined ? otherwise : Number(text)
  if (!Number.isSafeInteger(read) || read < 1) throw new Error(`${text} is not a number that makes sense here`)
  return read
}
const seed = number(values.seed, Date.now() % 1_000_000)
const minutes = number(values.minutes, 24 * 60)
const kills = number(values.kills, 300)
const ids = values.only?.split(',') ?? Object.keys(drills)
const engines = (values.engines?.split(',') ?? engineNames) as EngineName[]

interface Figures {
  runs: number
  troubles: number
  rows: number
  badRows: number
  lost: number
  extra: number
  kept: string[]
}

const deadlineMs = Date.now() + minutes * 60_000
const servers = makeServers()
console.log(`Seed ${seed}\n`)
console.log('| id | runs | troubles | rows | bad rows | lost | extra | to look at |')
console.log('|---|---|---|---|---|---|---|---|')
try {
  for (const id of ids) {
    const drill = drills[id]
    if (!drill) throw new Error(`there is no ${id}; there are ${Object.keys(drills).join(', ')}`)
    const figures: Figures = { runs: 0, troubles: 0, rows: 0, badRows: 0, lost: 0, extra: 0, kept: [] }
    while (figures.troubles < kills && Date.now() < deadlineMs) {
      const troubles = Math.min(drill.most, kills - figures.troubles)
      const number = figures.runs++
      figures.troubles += troubles
      const engine = engines[number % engines.length] ?? 'modern'
      try {
        const { outcome, kept } = await drill.run(servers, { number, engine, troubles, seed: seed + number })
        figures.rows += outcome.producedRows
        figures.badRows += outcome.producedBadRows
        figures.lost += outcome.rows.lost + outcome.badRows.lost
        figures.extra += outcome.rows.extra + outcome.badRows.extra
        if (kept !== undefined) figures.kept.push(kept)
        if (!isExact(outcome)) process.exitCode = 1
      } catch (error) {
        process.exitCode = 1
        figures.kept.push(`${error instanceof Error ? error.message : error} (seed ${seed + number}, ${engine})`)
      }
    }
    const { runs, troubles, rows, badRows, lost, extra, kept } = figures
    console.log(`| ${[id, runs, troubles, rows, badRows, lost, extra, kept.join('; ')].join(' | ')} |`)
  }
} finally {
  await servers.stop()
}
