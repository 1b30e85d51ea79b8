// Chaos drills for hours:
// npm run chaos -- [--only R2,R18] [--minutes 10] [--seed 1] [--kills 300] [--engines old,modern] [--size 100] [--ci]
// Prints a Markdown table row per id. A failed run keeps a folder with its history, logs and database. `--kills` and
// `--engines` apply to pipe drills, `--size` to system drills; `--ci` uses the sizes of the tests.
import { parseArgs } from 'node:util'
import { drills } from './drills.ts'
import { runPipeDrills } from './run-pipes.ts'
import { type EngineName, engineNames } from './servers.ts'
import { systemDrills } from './system/all.ts'
import { runSystemDrills } from './system/run.ts'

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    minutes: { type: 'string' },
    seed: { type: 'string' },
    kills: { type: 'string' },
    engines: { type: 'string' },
    size: { type: 'string' },
    ci: { type: 'boolean', default: false },
  },
})
const number = (text: string | undefined, otherwise: number): number => {
  const read = text === undefined ? otherwise : Number(text)
  if (!Number.isSafeInteger(read) || read < 1) throw new Error(`${text} is not a positive integer`)
  return read
}
const all = [...systemDrills.map(({ id }) => id), ...Object.keys(drills)]
const ids = values.only?.split(',') ?? all
const unknown = ids.filter((id) => !all.includes(id))
if (unknown.length > 0) throw new Error(`unknown drill ${unknown.join(', ')}; known drills: ${all.join(', ')}`)

const seed = number(values.seed, Date.now() % 1_000_000)
const deadlineMs = Date.now() + number(values.minutes, 24 * 60) * 60_000
const kills = number(values.kills, values.ci ? 10 : 300)
const engines = (values.engines?.split(',') ?? engineNames) as EngineName[]
const sizeOf = ({ ci, full }: { ci: number; full: number }): number => number(values.size, values.ci ? ci : full)

console.log(`Seed ${seed}\n`)
const chosen = systemDrills.filter(({ id }) => ids.includes(id))
const areKept = [
  await runSystemDrills(chosen, { seed, deadlineMs, sizeOf }),
  await runPipeDrills(
    ids.filter((id) => id in drills),
    { seed, deadlineMs, kills, engines },
  ),
]
if (areKept.includes(false)) process.exitCode = 1
