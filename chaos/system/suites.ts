// Existing test suites run as drills with larger sizes, which their files read from the environment.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { join } from 'node:path'
import type { SystemDrill } from './drill.ts'

const root = join(import.meta.dirname, '..', '..')

const longestMs = 4 * 3_600_000

type Suite = Omit<SystemDrill, 'run'> & { files: string }

function suiteDrill({ files, ...drill }: Suite): SystemDrill {
  return {
    ...drill,
    async run({ seed, size, folder }) {
      const printed = join(folder, 'printed.txt')
      const environment = { ...process.env, PENSTOCK_DRILL_SIZE: String(size), PENSTOCK_DRILL_SEED: String(seed) }
      const flags = ['--', `--test-name-pattern=${drill.id} `, `--test-timeout=${longestMs}`]
      const child = spawn(process.execPath, [join(root, 'test/run/run.ts'), files, ...flags], {
        cwd: root,
        env: environment,
        stdio: ['ignore', 'pipe', 'pipe'],
      })
      const output = createWriteStream(printed)
      child.stdout.pipe(output, { end: false })
      child.stderr.pipe(output, { end: false })
      const [code] = await once(child, 'close')
      output.end()
      return { isKept: code === 0, measurements: { [drill.unit]: size }, ...(code === 0 ? {} : { toLookAt: printed }) }
    },
  }
}

export const modelDrill = suiteDrill({
  id: 'R9',
  promise: 'the API behaves as its model, on both databases',
  files: 'test/heavy/model.test.ts',
  ci: 300,
  full: 20_000,
  unit: 'sequences',
})

export const lastAdminDrill = suiteDrill({
  id: 'R11',
  promise: 'an organization always has an admin, whatever concurrent demotions and removals',
  files: 'test/suites/last-admin.test.ts',
  ci: 300,
  full: 20_000,
  unit: 'races',
})

export const damagedFilesDrill = suiteDrill({
  id: 'R21',
  promise: 'rows of good files arrive once, and each damaged file is reported by its name',
  files: 'test/real/damaged-files.test.ts',
  ci: 30,
  full: 5_000,
  unit: 'sets of files',
})

export const changingTopicsDrill = suiteDrill({
  id: 'R21',
  promise:
    'every record of a topic that is created again, grown or cut arrives once, or the pipe says how many are missing',
  files: 'src/runner/changing-topics.test.ts',
  ci: 40,
  full: 5_000,
  unit: 'rounds',
})

export const changingTablesDrill = suiteDrill({
  id: 'R21',
  promise: 'a copy of changing tables equals its source, or the pipe reports that it does not',
  files: 'test/heavy/changing-tables.test.ts',
  ci: 100,
  full: 5_000,
  unit: 'changes',
})

export const hostileSourcesDrill = suiteDrill({
  id: 'S13',
  promise: 'no schema and no file of a source blocks the process for long',
  files: 'test/suites/hostile-sources.test.ts',
  ci: 1_000,
  full: 100_000,
  unit: 'texts',
})

export const strangersDrill = suiteDrill({
  id: 'S14',
  promise: 'wrong keys and passwords never lock out clients with valid ones',
  files: 'test/suites/strangers.test.ts',
  ci: 1_000,
  full: 10_000,
  unit: 'guesses',
})

export const fuzzDrill = suiteDrill({
  id: 'S2',
  promise: 'generated and damaged requests get the specified answers, and none a 5xx',
  files: 'test/heavy/fuzz-*.test.ts',
  ci: 100_000,
  full: 1_000_000,
  unit: 'requests',
})
