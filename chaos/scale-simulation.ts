// How runners share pipes when there are very many of both: the real plan, leases and claims on a simulated database, in simulated time.
// npm run simulate -- [--runners n] [--pipes n] [--seed n] [--in-order] [--every-second]
import { parseArgs } from 'node:util'
import { makeRandom } from './random.ts'
import { Fleet, type Stretch } from './scale/fleet.ts'

const { values } = parseArgs({
  options: {
    runners: { type: 'string', default: '1000' },
    pipes: { type: 'string', default: '100000' },
    seed: { type: 'string', default: '1' },
    'in-order': { type: 'boolean', default: false },
    'every-second': { type: 'boolean', default: false },
  },
})
const runners = Number(values.runners)
const pipes = Number(values.pipes)
const habits = { claimsInOrder: values['in-order'], looksEverySecond: values['every-second'] }
const begun = process.hrtime.bigint()
const fleet = new Fleet({ pipes, random: makeRandom(Number(values.seed)), habits, nowMs: Date.UTC(2026, 0, 1) })

const number = (value: number): string => Math.round(value).toLocaleString('en')
const seconds = (value: number | undefined): string => (value === undefined ? '' : value.toFixed(1))

function tell(event: string, stretch: Stretch): void {
  const { load, tally, fewest, most } = stretch
  const cells = [
    event,
    number(fleet.size),
    seconds(stretch.halfTakenSeconds),
    seconds(stretch.allTakenSeconds),
    seconds(stretch.movingSeconds),
    `${number(fewest)} to ${number(most)}`,
    `${number(tally.claims)}, ${number(tally.refused)}`,
    number(tally.givenBack),
    `${number(load.statements / stretch.seconds)}, ${number(stretch.mostStatements)}`,
    `${number(load.rowsRead / stretch.seconds)}, ${number(stretch.mostRowsRead)}`,
    number(load.rowsWritten / stretch.seconds),
  ]
  console.log(`| ${cells.join(' | ')} |`)
}

console.log(`${number(runners)} runners, ${number(pipes)} pipes, seed ${values.seed}\n`)
console.log(
  '| event | runners then | half has a worker after s | all have after s | nothing moves after s | workers of a runner | claims, refused | given back | statements/s, most | rows read/s, most | rows written/s |',
)
console.log('|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|')
fleet.start(runners, 10_000)
tell('all start within 10 s', await fleet.run({ seconds: 300, untilCalm: true }))
tell('nothing happens for 60 s', await fleet.run({ seconds: 60, untilCalm: false }))
for (const count of [1, 10, 100].filter((count) => count < runners)) {
  fleet.kill(count)
  tell(`${count} killed`, await fleet.run({ seconds: 300, untilCalm: true }))
}
for (const count of [1, 110]) {
  fleet.start(count, 1_000)
  tell(`${count} more`, await fleet.run({ seconds: 300, untilCalm: true }))
}
console.log(`\nIt took ${number(Number(process.hrtime.bigint() - begun) / 1e9)} s.`)
