// Simulates how many runners share many pipes: the real plan, leases and claims, on a simulated database and clock.
// npm run simulate -- [--runners n] [--pipes n] [--seed n] [--in-order] [--every-second]
import { parseArgs } from 'node:util'
import { makeRandom } from './random.ts'
import { Fleet, type SimulationResult } from './scale/fleet.ts'

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
const behavior = { claimsInOrder: values['in-order'], looksEverySecond: values['every-second'] }
const begun = process.hrtime.bigint()
const fleet = new Fleet({ pipes, random: makeRandom(Number(values.seed)), behavior, nowMs: Date.UTC(2026, 0, 1) })

const number = (value: number): string => Math.round(value).toLocaleString('en')
const seconds = (value: number | undefined): string => (value === undefined ? '' : value.toFixed(1))

function print(event: string, result: SimulationResult): void {
  const { load, claimCounts, fewest, most } = result
  const cells = [
    event,
    number(fleet.size),
    seconds(result.halfTakenSeconds),
    seconds(result.allTakenSeconds),
    seconds(result.movingSeconds),
    `${number(fewest)} to ${number(most)}`,
    `${number(claimCounts.claims)}, ${number(claimCounts.refused)}`,
    number(claimCounts.givenBack),
    `${number(load.statements / result.seconds)}, ${number(result.mostStatements)}`,
    `${number(load.rowsRead / result.seconds)}, ${number(result.mostRowsRead)}`,
    number(load.rowsWritten / result.seconds),
  ]
  console.log(`| ${cells.join(' | ')} |`)
}

console.log(`${number(runners)} runners, ${number(pipes)} pipes, seed ${values.seed}\n`)
console.log(
  '| event | runners then | 50 % assigned (s) | 100 % assigned (s) | settled (s) | workers per runner | claims, rejected | given back | statements/s, peak | rows read/s, peak | rows written/s |',
)
console.log('|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|')
fleet.start(runners, 10_000)
print('all start within 10 s', await fleet.run({ seconds: 300, untilCalm: true }))
print('nothing happens for 60 s', await fleet.run({ seconds: 60, untilCalm: false }))
for (const count of [1, 10, 100].filter((count) => count < runners)) {
  fleet.kill(count)
  print(`${count} killed`, await fleet.run({ seconds: 300, untilCalm: true }))
}
for (const count of [1, 110]) {
  fleet.start(count, 1_000)
  print(`${count} more`, await fleet.run({ seconds: 300, untilCalm: true }))
}
console.log(`\nIt took ${number(Number(process.hrtime.bigint() - begun) / 1e9)} s.`)
