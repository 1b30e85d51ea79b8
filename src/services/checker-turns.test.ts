// Which services are checked at once, and which organization comes next.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { checkersOn } from '../../test/harness/service-checker.ts'
import { onBothDatabases } from '../../test/harness/test-app.ts'
import { openApp } from '../app.ts'
import type { EngineCheck } from '../engine/check.ts'
import { Log } from '../lib/log.ts'
import { dueOrganizations } from './store.ts'

onBothDatabases('ServiceChecker', (app) => {
  const { engine, makeChecker, addService, round } = checkersOn(app)

  it('never lets two processes check the same service at once', async () => {
    const { organizationId } = await app().addOrganization()
    const hosts: string[] = []
    for (let index = 0; index < 20; index++) {
      const host = `engine-${index}.example`
      hosts.push(host)
      await addService('opens', `http://${host}:8123`, index < 10 ? organizationId : undefined)
    }
    const seen: string[] = []
    const check = async (host: string): Promise<EngineCheck> => {
      seen.push(host)
      await sleep(1)
      return { version: '1.2.3' }
    }
    // Only PostgreSQL allows another process.
    const second =
      app().dialect === 'postgres'
        ? await openApp(app().config, { log: new Log('silent'), mayCreateKeys: false, onFatal: () => undefined })
        : undefined
    const checkers = [makeChecker(check), makeChecker(check), makeChecker(check, second)]
    await Promise.all(checkers.map(round))
    assert.deepEqual(seen.sort(), hosts.sort())
    for (const checker of checkers) await checker.stop()
    await second?.close()
  })

  it('checks no more than eight at once, and all of them in the end', async () => {
    for (let index = 0; index < 30; index++) await addService('opens', `http://many-${index}.example:8123`)
    let underWay = 0
    let most = 0
    let checked = 0
    const { promise: areEight, resolve } = Promise.withResolvers<void>()
    const checker = makeChecker(async () => {
      most = Math.max(most, ++underWay)
      // The first ones wait for each other, however far apart they begin; a ninth would begin in the time after that.
      if (most >= 8) resolve()
      await areEight
      await sleep(50)
      underWay--
      checked++
      return { failure: 'unreachable', reason: 'x' }
    })
    await round(checker)
    assert.equal(most, 8)
    assert.equal(checked, 30)
    await checker.stop()
  })

  it('checks two services of an organization at once, so that its silent hosts do not delay the others', async () => {
    const { organizationId } = await app().addOrganization()
    for (let index = 0; index < 10; index++) {
      await addService('opens', `http://silent-${index}.example:8123`, organizationId)
    }
    for (let index = 0; index < 12; index++) await addService('opens', `http://quick-${index}.example:8123`)
    const seen: string[] = []
    const waiting: (() => void)[] = []
    let speaks = false
    const checker = makeChecker(async (host) => {
      seen.push(host)
      if (host.startsWith('silent') && !speaks) await new Promise<void>((done) => waiting.push(done))
      return { failure: 'unreachable', reason: 'x' }
    })
    await sleep(1)
    checker.poke()
    const started = Date.now()
    const seenOf = (kind: string) => seen.filter((host) => host.startsWith(kind)).length
    while (seenOf('quick') + seenOf('silent') < 14 && Date.now() - started < 60_000) await sleep(5)
    // Long enough for another lookup, which must find nothing due.
    await sleep(50)
    assert.equal(seenOf('quick'), 12)
    assert.equal(seenOf('silent'), 2)
    speaks = true
    for (const done of waiting) done()
    await checker.settled()
    assert.equal(new Set(seen).size, 22)
    assert.equal(seen.length, 22)
    await checker.stop()
  })

  it('serves the organizations round-robin', async () => {
    const organizations: string[] = []
    for (let index = 0; index < 12; index++) {
      const { organizationId } = await app().addOrganization()
      organizations.push(organizationId)
      for (const nth of [1, 2, 3, 4]) await addService('opens', `http://${nth}.of-${index}.example`, organizationId)
    }
    const seen: string[] = []
    const checker = makeChecker(async (host) => {
      seen.push(host.split('.')[1]!)
      await sleep(1)
      return { failure: 'unreachable', reason: 'x' }
    })
    await round(checker)
    assert.equal(seen.length, 48)
    const positionOf = (organization: string, nth: number) =>
      seen.flatMap((name, index) => (name === organization ? [index] : []))[nth - 1]!
    const names = organizations.map((_, index) => `of-${index}`)
    const lastToBegin = Math.max(...names.map((name) => positionOf(name, 1)))
    for (const name of names) assert.ok(positionOf(name, 3) > lastToBegin, seen.join(' '))
    await checker.stop()
  })

  it('finds the organizations after the last that was served, then the others', async () => {
    const ids: string[] = []
    for (let index = 0; index < 4; index++) ids.push((await addService()).organizationId)
    await addService('opens', engine().url, ids[0])
    const [first, second, third, fourth] = ids.toSorted()
    const now = new Date().toISOString()
    const ask = async (after: string, limit: number) => [
      ...(await dueOrganizations(app().sql, { now, horizon: '9', after, limit })).keys(),
    ]
    assert.deepEqual(await ask('', 10), [first, second, third, fourth])
    assert.deepEqual(await ask(second!, 10), [third, fourth, first, second])
    assert.deepEqual(await ask(second!, 3), [third, fourth, first])
    assert.deepEqual(await ask(first!, 2), [second, third])
    const due = await dueOrganizations(app().sql, { now, horizon: '9', after: fourth!, limit: 10 })
    assert.deepEqual(
      ids.map((id) => due.get(id)),
      [2, 1, 1, 1],
    )
    const checker = makeChecker()
    await round(checker)
    assert.deepEqual(await ask('', 10), [])
    await checker.stop()
  })
})
