// Checks of disks and limits, with given and with measured values.
import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { checkDiskSync, checkFileSystem, checkFreeSpace } from './disk.ts'
import { checkMemory, checkOpenFiles } from './limits.ts'
import { thisMachine } from './machine.ts'

const gibibyte = 2 ** 30

describe('the machine', () => {
  it('is measured, without leaving files', () => {
    const folder = mkdtempSync(join(tmpdir(), 'penstock-doctor-'))
    try {
      const { perSecond, medianMs, slowestMs } = thisMachine.measureSyncs(folder)
      assert.ok(perSecond > 0 && Number.isFinite(perSecond))
      assert.ok(medianMs > 0 && slowestMs >= medianMs)
      assert.deepEqual(readdirSync(folder), [])
      const { type, freeBytes } = thisMachine.fileSystemOf(folder)
      assert.ok(type > 0 && freeBytes > 0)
    } finally {
      rmSync(folder, { recursive: true })
    }
    assert.ok(thisMachine.memoryBytes() > 0 && Number.isFinite(thisMachine.memoryBytes()))
    if (existsSync('/proc/self/limits')) assert.ok(thisMachine.openFileLimit()! > 0)
  })

  it('warns of in-memory, network and permissionless file systems', () => {
    const cases: [number, string, RegExp][] = [
      [0xef53, 'ok', /^\/data is on ext4$/],
      [0x58465342, 'ok', /xfs/],
      [0x1234, 'ok', /type 0x1234/],
      [0x01021994, 'warning', /tmpfs: all of it is gone when the machine stops$/],
      [0x794c7630, 'warning', /overlay: all of it is gone with the container$/],
      [0x6969, 'warning', /nfs: locks and syncs are as good as the server behind it/],
      [0x4d44, 'warning', /vfat, which keeps no permissions/],
    ]
    for (const [type, verdict, found] of cases) {
      const finding = checkFileSystem('/data', { type })
      assert.equal(finding.verdict, verdict)
      assert.match(finding.found, found)
      assert.equal(finding.remedy !== undefined, verdict !== 'ok')
    }
  })

  it('warns of syncs that are implausibly fast, and of slow ones', () => {
    const measured = { perSecond: 400, medianMs: 2, slowestMs: 30 }
    assert.equal(checkDiskSync(measured).found, '400 syncs a second (median 2.00 ms, slowest 30.0 ms)')
    assert.equal(checkDiskSync(measured).verdict, 'ok')
    const lying = checkDiskSync({ perSecond: 300_000, medianMs: 0.003, slowestMs: 0.1 })
    assert.equal(lying.verdict, 'warning')
    assert.match(lying.found, /a power failure may lose what was acknowledged$/)
    assert.match(lying.remedy!, /honours fsync/)
    assert.equal(checkDiskSync({ perSecond: 4, medianMs: 250, slowestMs: 900 }).verdict, 'warning')
  })

  it('warns when free bytes or inodes run out', () => {
    const verdictOf = (freeBytes: number, isDatabaseHere = true, freeFiles?: number) =>
      checkFreeSpace({ type: 0xef53, freeBytes, freeFiles }, isDatabaseHere).verdict
    assert.equal(verdictOf(5 * gibibyte), 'ok')
    assert.equal(verdictOf(gibibyte / 2), 'warning')
    assert.equal(verdictOf(1_000_000), 'problem')
    assert.equal(verdictOf(gibibyte / 2, false), 'ok')
    assert.equal(verdictOf(5 * gibibyte, true, 12), 'problem')
    assert.equal(verdictOf(5 * gibibyte, true, 1_000_000), 'ok')
  })

  it('warns of low limits', () => {
    const withLimits = (limit: number | undefined, bytes: number) => {
      const machine = { ...thisMachine, openFileLimit: () => limit, memoryBytes: () => bytes }
      return [checkOpenFiles(machine), checkMemory(machine)].map(({ verdict }) => verdict)
    }
    assert.deepEqual(withLimits(undefined, 2 * gibibyte), ['ok', 'ok'])
    assert.deepEqual(withLimits(65_536, 2 * gibibyte), ['ok', 'ok'])
    assert.deepEqual(withLimits(256, gibibyte / 4), ['warning', 'warning'])
  })
})
