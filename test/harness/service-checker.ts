// A checker of services, with an engine and services to check.
import { after, before, beforeEach } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { App } from '../../src/app.ts'
import { checkEngine, type EngineCheck } from '../../src/engine/check.ts'
import { Egress } from '../../src/lib/egress.ts'
import { newId } from '../../src/lib/id.ts'
import { Log } from '../../src/lib/log.ts'
import { ServiceChecker } from '../../src/services/checker.ts'
import { passwordContext } from '../../src/services/service.ts'
import { insertService } from '../../src/services/store.ts'
import { startEngine, type TestEngine } from '../fakes/engine.ts'
import type { TestApp } from './test-app.ts'

export function checkersOn(app: () => TestApp) {
  let engine: TestEngine
  before(async () => {
    engine = await startEngine()
    engine.password = 'opens'
  })
  beforeEach(async () => {
    // Excludes services of the harness and of earlier tests, which are due again after 30 seconds.
    await app().query('UPDATE services SET endpoint_url = NULL')
  })
  after(() => engine.stop())

  function makeChecker(check?: (host: string) => Promise<EngineCheck>, process: App = app().app) {
    const { database, vault } = process
    const egress = new Egress({ allowLoopback: true, allowPlaintext: true, deniedAddresses: [] })
    return new ServiceChecker({
      reader: database.reader,
      claim: (claim) => database.write('claimServiceChecks', claim, claim.organizationId),
      record: (record) => database.write('recordServiceCheck', record, record.organizationId),
      check: (access, signal) =>
        check ? check(access.host) : checkEngine(egress, access, { signal, timeoutMs: 20_000 }),
      vault,
      log: new Log('silent'),
    })
  }

  async function addService(password = 'opens', url = engine.url, organization?: string) {
    const organizationId = organization ?? (await app().addOrganization()).organizationId
    const id = newId()
    const sealedPassword = app().app.vault.seal(password, passwordContext({ id, organizationId }))
    const endpoint = { url, username: 'default', sealedPassword }
    const now = new Date().toISOString()
    await insertService(app().sql, {
      id,
      organizationId,
      name: 'x',
      provider: 'aws',
      region: 'eu-west-1',
      endpoint,
      now,
    })
    const row = async () => {
      const rows = await app().query<{
        state: string
        state_reason: string | null
        engine_version: string | null
        failed_checks: number
        next_check_at: string
        version: number
      }>(`SELECT * FROM services WHERE id = '${id}'`)
      return rows[0]!
    }
    const makeDue = () => app().query(`UPDATE services SET next_check_at = '' WHERE id = '${id}'`)
    return { id, organizationId, row, makeDue }
  }

  async function round(checker: ServiceChecker): Promise<void> {
    // What was written around Penstock in this turn is seen in the next.
    await sleep(1)
    checker.poke()
    await checker.settled()
  }

  return { engine: () => engine, makeChecker, addService, round }
}
