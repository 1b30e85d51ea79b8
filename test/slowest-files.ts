// A reporter beside the usual one: says at the end of a run which files took longest, for whoever wants it to be shorter.
import { relative } from 'node:path'
import type { TestEvent } from 'node:test/reporters'
import { root } from './test-run.ts'

const mostTold = 15

export default async function* slowestFiles(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const files: { file: string; tookMs: number }[] = []
  for await (const { type, data } of events) {
    if (type === 'test:summary' && data.file) files.push({ file: relative(root, data.file), tookMs: data.duration_ms })
  }
  if (files.length < 2) return
  const slowest = files.toSorted((one, other) => other.tookMs - one.tookMs).slice(0, mostTold)
  const lines = slowest.map(({ file, tookMs }) => `${(tookMs / 1_000).toFixed(1).padStart(7)} s  ${file}`)
  yield `Slowest of ${files.length} files:\n${lines.join('\n')}\n`
}
