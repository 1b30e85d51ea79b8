import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { keyIdOf, type MasterKeys, newMasterKeys, Vault, VaultError, withNextKey } from './vault.ts'

const context = { organizationId: 'o', table: 'pipes', row: 'r', field: 'secrets' }

describe('master keys that change', () => {
  const first = newMasterKeys()
  const added = withNextKey(first)
  const { next, ...others } = added
  const rotated: MasterKeys = { ...others, current: next }

  it('get ids that were never used before', () => {
    const again = withNextKey(first)
    assert.match(next, /^k2-[0-9a-f]{6}$/)
    assert.notEqual(again.next, next)
    assert.match(withNextKey(rotated).next, /^k3-/)
    assert.equal(added.current, 'k1')
  })

  it('are reloaded at once for a value with an unknown key, and occasionally when a value is sealed', () => {
    const asked: string[] = []
    let present: MasterKeys | undefined
    const vault = new Vault(first, (need) => {
      asked.push(need)
      return present
    })
    const old = vault.seal('old', context)
    assert.deepEqual(asked, ['soon'])
    assert.equal(vault.open(old, context), 'old')
    assert.deepEqual(asked, ['soon'])
    const sealedWithNext = new Vault(rotated).seal('new', context)
    assert.throws(() => vault.open(sealedWithNext, context), VaultError)
    assert.deepEqual(asked, ['soon', 'now'])
    present = added
    assert.equal(vault.open(sealedWithNext, context), 'new')
    assert.equal(keyIdOf(vault.seal('still the old key', context)), 'k1')
    present = rotated
    assert.equal(keyIdOf(vault.seal('the new key', context)), next)
    assert.equal(vault.open(old, context), 'old')
  })

  it('stay known to a process after their removal: values sealed with them may not be stored yet', () => {
    let present: MasterKeys | undefined
    const vault = new Vault(rotated, () => present)
    const old = new Vault(first).seal('old', context)
    const { k1: _removed, ...left } = rotated.keys
    present = { ...rotated, keys: left }
    vault.seal('anything', context)
    assert.equal(vault.open(old, context), 'old')
    assert.throws(() => new Vault(present!).open(old, context), VaultError)
  })

  it('are rejected when the current or the next one is not in the list', () => {
    assert.throws(() => new Vault({ ...first, current: 'k9' }), /the current master key k9 is not in the list/)
    assert.throws(() => new Vault({ ...first, next: 'k9' }), /the next master key k9 is not in the list/)
  })

  it('can be compared by a check value that reveals nothing about them', () => {
    const vault = new Vault(rotated)
    assert.equal(vault.checkOfKey('k1'), new Vault(first).checkOfKey('k1'))
    assert.notEqual(vault.checkOfKey('k1'), vault.checkOfKey(next))
    assert.notEqual(vault.checkOfKey('k1'), new Vault(newMasterKeys()).checkOfKey('k1'))
    assert.equal(vault.checkOfKey('k9'), undefined)
  })
})
