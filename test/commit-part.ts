// What takes too long for every commit is done in eighths, another one with every commit.
import { spawnSync } from 'node:child_process'
import { hash } from 'node:crypto'
import { root } from './test-run.ts'

const parts = 8

/** Whether what has this name is of the part of the present commit. A tree without its history has one eighth for ever. */
export function makeCommitPart(): (name: string) => boolean {
  const { stdout: commit } = spawnSync('git', ['rev-parse', 'HEAD'], { cwd: root, encoding: 'utf8' })
  const part = numberOf(commit ?? '')
  return (name) => numberOf(name) === part
}

function numberOf(text: string): number {
  return Number.parseInt(hash('sha256', text, 'hex').slice(0, 8), 16) % parts
}
