// One round of R21 for files: a pipe loads intact and damaged files in random order and groups, with restarts. Rows of intact
// files arrive exactly once, no unknown row arrives, and each damaged file is reported by its name.
import type { Random } from '../../chaos/random.ts'
import type { ObjectFormat } from '../../src/formats/decode/decoding.ts'
import { type DrawnFile, drawFile, nameOf } from './draw-file.ts'
import { type FileEngine, openFilePipe } from './file-pipe.ts'
import { MemoryFiles } from './memory-files.ts'

export interface FileRound {
  format: ObjectFormat
  /** Violations. */
  problems: string[]
  damagedCount: number
}

const columns = [
  { name: 'id', type: 'UInt32' },
  { name: 'name', type: 'String' },
]
const mostRuns = 200

export async function runFileRound(
  engine: FileEngine,
  { random, table, formats }: { random: Random; table: string; formats: ObjectFormat[] },
): Promise<FileRound> {
  const format = random.pick(formats)
  const files = await drawFiles(random, format)
  const store = new MemoryFiles()
  for (const { key, bytes } of files) store.put(key, bytes)
  const named = await loadAll(engine, { random, table, format, store, files })
  const rows = parse<{ id: number; name: string }>(
    await engine.query(`SELECT id, name FROM pipes.${table} FORMAT JSONEachRow`),
  )
  const rejected = parse<{ position: string }>(await engine.query(rejectedText(table)).catch(() => ''))
  const reported = [...named, ...rejected.map(({ position }) => position)]
  const problems = [
    ...wrongRows(files, rows, (key) => reported.some((text) => text.includes(key))),
    ...files
      .filter(({ key, damage }) => damage !== undefined && !reported.some((text) => text.includes(key)))
      .map(({ key, damage }) => `${key} (${damage}) is not reported`),
    ...files
      .filter(({ key, damage, successor }) => !damage && !successor && reported.some((text) => text.includes(key)))
      .map(({ key }) => `${key} is reported and is good`),
  ]
  return { format, problems, damagedCount: files.filter(({ damage }) => damage !== undefined).length }
}

const rejectedText = (table: string): string => `SELECT position FROM pipes.${table}_penstock_errors FORMAT JSONEachRow`

function parse<Row>(lines: string): Row[] {
  return lines
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Row)
}

async function drawFiles(random: Random, format: ObjectFormat): Promise<DrawnFile[]> {
  const files: DrawnFile[] = []
  const count = random.between(2, 9)
  for (let number = 0; number < count; number++) {
    const isGood = random.happens(0.6)
    // A damaged file has rows: damage of an empty file cannot be detected.
    const length = isGood ? random.pick([0, 1, 5, 40]) : random.between(1, 20)
    const ids = Array.from({ length }, (_, index) => 100_000 * (number + 1) + index)
    const drawn = { format, key: `files/${number}-${random.below(1_000)}`, ids, isGood }
    const file = await drawFile(random, drawn)
    files.push(file)
    if (!isGood || !random.happens(0.15)) continue
    const later = ids.map((id) => id + 50_000)
    const { bytes, key } = await drawFile(random, { ...drawn, ids: later })
    // A differently compressed file would have another name.
    if (key === file.key) file.successor = { bytes, ids: later }
  }
  return files
}

interface FileLoad {
  random: Random
  table: string
  format: ObjectFormat
  store: MemoryFiles
  files: DrawnFile[]
}

/** Returns the failures of the pipe. Like a user, removes each file that a failure names and restarts the pipe. */
async function loadAll(engine: FileEngine, { random, table, format, store, files }: FileLoad): Promise<string[]> {
  const settings = { object_storage_max_file_count: random.between(1, 6) }
  const pipe = openFilePipe(engine, { table, format, columns, files: store, settings })
  const restarts = new Set(Array.from({ length: random.below(3) }, () => random.below(30)))
  const named: string[] = []
  const replacedAt = new Map(files.flatMap((file) => (file.successor ? [[random.below(8), file]] : [])))
  let opened = 0
  for (let run = 1; run <= mostRuns; run++) {
    const worker = pipe.newWorker()
    store.opening = () => {
      const replaced = replacedAt.get(opened)
      if (replaced?.successor) store.put(replaced.key, replaced.successor.bytes)
      if (restarts.has(opened++)) worker.abort()
    }
    const end = await worker.run()
    if (end.end === 'completed') return named
    if (end.end !== 'failed') continue
    const [, key] = /the object "(files\/[^"]+)"/.exec(end.reason) ?? []
    if (key === undefined) throw new Error(`the pipe failed and named no file: ${end.reason}`)
    named.push(key)
    store.remove(key)
  }
  throw new Error('the pipe did not come to an end')
}

function wrongRows(
  files: DrawnFile[],
  rows: { id: number; name: string }[],
  isReported: (key: string) => boolean,
): string[] {
  const countOf = new Map<number, number>()
  const problems: string[] = []
  // Ids that the damages introduce.
  const strays = new Set([1, 77, 78, 79])
  for (const { id, name } of rows) {
    countOf.set(id, (countOf.get(id) ?? 0) + 1)
    if (!strays.has(id) && name !== nameOf(id))
      problems.push(`row ${id} has the name ${JSON.stringify(name).slice(0, 200)}`)
  }
  const timesOf = (ids: number[]): number[] => ids.map((id) => countOf.get(id) ?? 0)
  const isOnce = (ids: number[]): boolean => timesOf(ids).every((count) => count === 1)
  for (const { key, ids, damage, successor } of files) {
    const isTwice = timesOf([...ids, ...(successor?.ids ?? [])]).some((count) => count > 1)
    const isThere = isOnce(ids) || (successor && isOnce(successor.ids))
    const mayBeAway = damage !== undefined || (successor && isReported(key))
    if (isTwice || (!isThere && !mayBeAway)) problems.push(`rows of ${key} (${damage}) are there ${timesOf(ids)} times`)
  }
  return problems
}
