// Runs `penstock doctor` checks against a test Penstock, by default on a healthy machine.
import assert from 'node:assert/strict'
import type { Config } from '../../src/config.ts'
import { examine } from '../../src/doctor/examine.ts'
import type { CheckName, Finding, Verdict } from '../../src/doctor/finding.ts'
import { type Machine, thisMachine } from '../../src/doctor/machine.ts'
import { Egress } from '../../src/lib/egress.ts'
import type { TestApp } from './test-app.ts'

export const goodMachine: Machine = {
  ...thisMachine,
  fileSystemOf: () => ({ type: 0xef53, freeBytes: 2 ** 40, freeFiles: undefined }),
  measureSyncs: () => ({ perSecond: 500, medianMs: 2, slowestMs: 9 }),
  openFileLimit: () => 65_536,
  memoryBytes: () => 2 ** 33,
}

/** Of a healthy Penstock with the given changes. Test engines are on this machine. */
export async function findingsOf(
  app: TestApp,
  changes: Partial<Config> = {},
  machine = goodMachine,
): Promise<Finding[]> {
  const config: Config = { ...app.config, allowLoopback: false, allowPlaintext: false, ...changes }
  const { databaseUrl } = config
  const deniedAddresses = databaseUrl ? [{ host: '127.0.0.1', port: Number(new URL(databaseUrl).port) }] : []
  return collect(config, machine, new Egress({ allowLoopback: true, allowPlaintext: true, deniedAddresses }))
}

export async function collect(config: Config, machine: Machine, egress: Egress): Promise<Finding[]> {
  const findings: Finding[] = []
  await examine(config, (finding) => findings.push(finding), { machine, egress })
  return findings
}

export const trouble = (findings: Finding[]): Finding[] => findings.filter(({ verdict }) => verdict !== 'ok')

export function assertOnly(
  findings: Finding[],
  check: CheckName,
  verdict: Verdict,
  found: RegExp,
  remedy: RegExp,
): void {
  assert.deepEqual(
    trouble(findings).map((finding) => [finding.check, finding.verdict]),
    [[check, verdict]],
    JSON.stringify(trouble(findings), null, 2),
  )
  const [finding] = trouble(findings)
  assert.match(finding!.found, found)
  assert.match(finding!.remedy!, remedy)
}
