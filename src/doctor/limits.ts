// Checks of the limits of open files and memory.
import { inUnits } from './disk.ts'
import { type Finding, toFinding, warning } from './finding.ts'
import type { Machine } from './machine.ts'

const fewestOpenFiles = 4_096
const fewestMemoryBytes = 512 * 1_048_576

export function checkOpenFiles(machine: Machine): Finding {
  const limit = machine.openFileLimit()
  const isLow = limit !== undefined && limit < fewestOpenFiles
  const found = limit === undefined ? 'no limit is known' : `up to ${limit} files and connections at once`
  const remedy = `raise it to ${fewestOpenFiles} or more: "ulimit -n", LimitNOFILE of systemd, --ulimit nofile of Docker`
  return toFinding(
    'open files',
    found,
    isLow ? [warning(`only ${found}; clients beyond that are turned away`, remedy)] : [],
  )
}

export function checkMemory(machine: Machine): Finding {
  const bytes = machine.memoryBytes()
  const isLow = bytes < fewestMemoryBytes
  const found = `${inUnits(bytes)} for this process`
  const remedy = `give it ${inUnits(fewestMemoryBytes)} or more: the limit of the container or of the unit, or a larger machine`
  return toFinding('memory', found, isLow ? [warning(`only ${found}; pipes may end it`, remedy)] : [])
}
