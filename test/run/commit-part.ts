// Selects an eighth of the checks that take too long for every commit, a different one with each commit.
import { spawnSync } from 'node:child_process'
import { hash } from 'node:crypto'
import { root } from './test-run.ts'

const parts = 8

/** Returns whether a name belongs to the part of the current commit. Without git history it is always the same part. */
export function makeCommitPart(): (name: string) => boolean {
  const { stdout: commit } = spawnSync('git', ['rev-parse', 'HEAD'], { cwd: root, encoding: 'utf8' })
  const part = numberOf(commit ?? '')
  return (name) => numberOf(name) === part
}

function numberOf(text: string): number {
  return Number.parseInt(hash('sha256', text, 'hex').slice(0, 8), 16) % parts
}
