// System calls of a process recorded by strace, and those that a systemd unit allows.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { debianProgram } from './servers/installed.ts'

export interface Trace {
  systemCalls: Set<string>
  /** Such as AF_INET. */
  socketFamilies: Set<string>
  /** Paths opened for writing, created, renamed or removed. */
  changedPaths: string[]
}

export function readTraces(files: string[]): Trace {
  const trace: Trace = { systemCalls: new Set(), socketFamilies: new Set(), changedPaths: [] }
  for (const line of files.flatMap((file) => readFileSync(file, 'utf8').split('\n'))) {
    const [, call, rest = ''] = /^\d+\s+([a-z][a-z0-9_]*)\((.*)$/.exec(line) ?? []
    if (call === undefined) continue
    trace.systemCalls.add(call)
    const [family] = call === 'socket' ? (/^AF_[A-Z0-9]+/.exec(rest) ?? []) : []
    if (family !== undefined) trace.socketFamilies.add(family)
    const opensToWrite = /^(?:open|openat|creat)$/.test(call) && /O_(?:WRONLY|RDWR|CREAT)/.test(rest)
    if (opensToWrite || /^(?:mkdir|rename|unlink|link|symlink|truncate|chmod|fchmodat|rmdir|mknod)/.test(call)) {
      trace.changedPaths.push(...Array.from(rest.matchAll(/"([^"]*)"/g), (match) => match[1] ?? ''))
    }
  }
  return trace
}

export interface UnitLimits {
  systemCalls: Set<string>
  socketFamilies: Set<string>
}

export function readUnitLimits(file: string): UnitLimits {
  const text = readFileSync(file, 'utf8')
  const listOf = (name: string): string[] =>
    Array.from(text.matchAll(new RegExp(`^${name}=(.*)$`, 'gm')), (match) => match[1] ?? '')
  // Every filter allows @default.
  const systemCalls = expand(['@default'])
  for (const filter of listOf('SystemCallFilter')) {
    const isDenied = filter.startsWith('~')
    for (const call of expand(filter.replace('~', '').split(' '))) {
      if (isDenied) systemCalls.delete(call)
      else systemCalls.add(call)
    }
  }
  return { systemCalls, socketFamilies: new Set(listOf('RestrictAddressFamilies').flatMap((list) => list.split(' '))) }
}

/** System calls of groups, which may contain groups. */
function expand(names: string[]): Set<string> {
  const calls = new Set(names.filter((name) => !name.startsWith('@')))
  const groups = names.filter((name) => name.startsWith('@'))
  if (groups.length === 0) return calls
  const program = debianProgram('systemd', '/usr/bin/systemd-analyze')
  const text = execFileSync(program, ['syscall-filter', '--no-pager', ...groups], { encoding: 'utf8' })
  const members = text.split('\n').flatMap((line) => /^ {4}([a-z0-9_@-]+)$/.exec(line)?.[1] ?? [])
  for (const call of expand(members)) calls.add(call)
  return calls
}
