import assert from 'node:assert/strict'
import { it } from 'node:test'
import { onBothDatabases } from '../../test/harness/test-app.ts'

onBothDatabases('another organization', (app) => {
  const add = (adminEmail: string, more: { adminName?: string; isForExistingAccount?: boolean } = {}) =>
    app().app.database.write(
      'addOrganization',
      { organizationName: 'Labs', adminEmail, adminName: '', isForExistingAccount: false, ...more },
      'organization',
    )
  const isForNobody = (answer: Awaited<ReturnType<typeof add>>) => !('made' in answer) && answer.known === undefined
  const organizationsOf = async (userId: string) =>
    (await app().query(`SELECT organization_id FROM members WHERE user_id = '${userId}'`)).length

  it('uses an existing account only on request, and describes it otherwise', async () => {
    const { adminUserId, organizationId } = await app().addOrganization()
    await app().query(`UPDATE organizations SET name = 'First' WHERE id = '${organizationId}'`)
    const email = `${adminUserId}@northwind.example`
    for (const adminName of ['', 'Somebody']) {
      const refused = await add(email.toUpperCase(), { adminName })
      assert.ok('known' in refused && refused.known)
      const { createdAt, ...known } = refused.known
      assert.ok(Date.parse(createdAt) <= Date.now())
      assert.deepEqual(known, { name: `User ${adminUserId.slice(0, 8)}`, email, organizationNames: ['First'] })
    }
    assert.equal(await organizationsOf(adminUserId), 1)
    const made = await add(email, { isForExistingAccount: true })
    assert.ok('made' in made)
    assert.equal(made.made.adminUserId, adminUserId)
    assert.equal(await organizationsOf(adminUserId), 2)
  })

  it('creates a new account only with a name', async () => {
    const email = 'new.person@northwind.example'
    assert.equal(isForNobody(await add(email)), true)
    assert.equal(isForNobody(await add(email, { adminName: 'New', isForExistingAccount: true })), true)
    const made = await add(email, { adminName: 'New' })
    assert.ok('made' in made)
    assert.equal(await organizationsOf(made.made.adminUserId), 1)
  })
})
