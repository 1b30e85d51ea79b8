import assert from 'node:assert/strict'
import { chmodSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { explainFileMode } from '../lib/private-file.ts'
import { newMasterKeys } from '../lib/vault.ts'
import { readMasterKeys, writeMasterKeys } from './master-keys.ts'

describe('the master key file', () => {
  it('is refused when other users can read it, with the chmod command', () => {
    const folder = mkdtempSync(join(tmpdir(), 'penstock-keys-'))
    try {
      const file = join(folder, 'master-keys.json')
      const keys = newMasterKeys()
      writeMasterKeys(file, keys)
      assert.deepEqual(readMasterKeys(file), keys)
      for (const mode of [0o644, 0o640, 0o604, 0o660]) {
        chmodSync(file, mode)
        const sentence = `The master key file ${file} is open to other users (mode 0${mode.toString(8)}): run "chmod 600 ${file}".`
        assert.throws(() => readMasterKeys(file), { name: 'StartError', message: sentence })
      }
      chmodSync(file, 0o400)
      assert.deepEqual(readMasterKeys(file), keys)
    } finally {
      rmSync(folder, { recursive: true })
    }
  })

  it('may be readable by the group when root has mounted it for another user', (t) => {
    const stats = statSync(import.meta.filename)
    const of = (mode: number, uid: number) => explainFileMode('k', Object.assign(stats, { mode, uid }))?.remedy
    t.mock.method(process as { geteuid(): number }, 'geteuid', () => 1000)
    assert.equal(of(0o440, 0), undefined)
    assert.equal(of(0o444, 0), 'run "chmod 440 k"')
    assert.equal(of(0o440, 1000), 'run "chmod 600 k"')
  })
})
