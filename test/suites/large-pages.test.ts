// Lists of very large items have short pages, so that no answer takes excessive time and memory.
import assert from 'node:assert/strict'
import { before, it } from 'node:test'
import { onBothDatabases } from '../harness/test-app.ts'

const pipes = 6
/** About 900 KB in total; a body may have 1 MiB. */
const columns = Array.from({ length: 230 }, (_, index) => ({
  name: `column_${index}`,
  type: `String${' '.repeat(3_900)}`,
}))
const mostAnswerBytes = 6 * 1_048_576

onBothDatabases('pages of large items', (app) => {
  let organizationPath: string
  let key: { keyId: string; secret: string }
  let pipesPath: string
  const ids: string[] = []
  before(async () => {
    const { organizationId, admin, serviceId } = await app().addOrganization()
    key = admin
    organizationPath = `/v1/organizations/${organizationId}`
    pipesPath = `${organizationPath}/services/${serviceId}/pipes`
    for (let number = 0; number < pipes; number++) {
      const { body, status, text } = await app().request('POST', pipesPath, {
        key,
        body: {
          name: `pipe ${number}`,
          source: {
            kinesis: {
              format: 'JSONEachRow',
              region: 'us-east-1',
              streamName: 'clicks',
              iteratorType: 'LATEST',
              authentication: 'IAM_ROLE',
              iamRole: 'arn:aws:iam::123456789012:role/penstock',
            },
          },
          destination: { database: 'd', table: 't', managedTable: false, columns },
        },
      })
      assert.equal(status, 200, text.slice(0, 500))
      ids.unshift(body.result.id)
      // Old and new list make an activity twice as large.
      const changed = { destination: { columns: columns.toReversed() } }
      assert.equal((await app().request('PATCH', `${pipesPath}/${body.result.id}`, { key, body: changed })).status, 200)
    }
  })

  async function readAll(path: string): Promise<{ items: { id: string }[]; pages: number }> {
    const items: { id: string }[] = []
    let pages = 0
    for (let next: string | undefined = path; next; pages++) {
      const { status, body, text, headers } = await app().request('GET', next, { key })
      assert.equal(status, 200)
      assert.ok(text.length < mostAnswerBytes, `an answer of ${text.length} bytes`)
      assert.ok(body.result.length > 0)
      items.push(...body.result)
      next = /<([^>]+)>; rel="next"/.exec(String(headers.link ?? ''))?.[1]
    }
    return { items, pages }
  }

  it('lists all pipes in short pages, newest first', async () => {
    const { items, pages } = await readAll(`${pipesPath}?limit=1000`)
    assert.deepEqual(
      items.map(({ id }) => id),
      ids,
    )
    assert.ok(pages > 1)
  })

  it('lists all activities in short pages, also of one type', async () => {
    assert.equal((await readAll(`${organizationPath}/activities?limit=1000`)).items.length, 2 * pipes)
    const { items, pages } = await readAll(`${organizationPath}/activities?limit=1000&type=pipe_updated`)
    assert.equal(items.length, pipes)
    assert.ok(pages > 1)
  })
})
