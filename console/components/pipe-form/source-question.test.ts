import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { PenstockError } from '../../../src/client/error.ts'
import type { Pipe, SchemaDiscovery, TableMapping } from '../../../src/client/shapes.ts'
import { viewOfCheck } from '../../api/check-state.ts'
import { draftOf, emptyDraft, type PipeDraft, type Values } from './pipe-draft.ts'
import { questionOfDraft, questionOfPipe } from './source-question.ts'
import { mappedTables, tablesNamed, withTable } from './table-mapping.ts'

const orders = { sourceSchemaName: 'public', sourceTable: 'orders', targetTable: 'orders' }
const unnamed = { sourceSchemaName: 'public', sourceTable: '', targetTable: '' }
const found: SchemaDiscovery = { steps: [], fields: [], rows: [], tables: [], availableTables: [], misfits: [] }

const postgresDraft = (values: Values = {}): PipeDraft => ({
  ...emptyDraft,
  kind: 'postgres',
  values: {
    'source/postgres/host': 'db.example',
    'source/postgres/database': 'shop',
    'source/postgres/credentials/username': 'reader',
    'source/postgres/credentials/password': 'a-password',
    ...values,
  },
})
const tableMappings = 'source/postgres/tableMappings'

function refusalAt(pointer: string): PenstockError {
  return new PenstockError('refused', {
    status: 400,
    code: 'invalid_body',
    requestId: 'a-request',
    errors: [{ pointer, detail: 'wrong' }],
  })
}

describe('the check of a new source', () => {
  it('sends only the source, in the form used to create a pipe', () => {
    const values = { 'source/objectStorage/authentication': 'none', 'source/objectStorage/url': 's3://a/b' }
    assert.deepEqual(questionOfDraft({ ...emptyDraft, kind: 'objectStorage', values }).body, {
      source: { objectStorage: { type: 's3', format: 'JSONEachRow', url: 's3://a/b' } },
    })
  })

  it('can run before a table is mapped, and skips tables without names', () => {
    const source = { host: 'db.example', database: 'shop', credentials: { username: 'reader', password: 'a-password' } }
    assert.deepEqual(questionOfDraft(postgresDraft()).body, { source: { postgres: source } })
    assert.deepEqual(questionOfDraft(postgresDraft({ [tableMappings]: [unnamed, orders] })).body, {
      source: { postgres: { ...source, tableMappings: [orders] } },
    })
  })

  it('shows the error of a table at its row', () => {
    const { inForm } = questionOfDraft(postgresDraft({ [tableMappings]: [unnamed, orders] }))
    const placed = inForm(refusalAt('#/source/postgres/tableMappings/0/sourceTable'))
    assert.equal(placed.errors[0]?.pointer, '#/source/postgres/tableMappings/1/sourceTable')
    assert.equal(placed.requestId, 'a-request')
    assert.equal(inForm(refusalAt('#/source/postgres/host')).errors[0]?.pointer, '#/source/postgres/host')
  })

  it('is outdated by any change of the source, and valid again when that is undone', () => {
    const asked = questionOfDraft(postgresDraft())
    const state = (draft: PipeDraft) => viewOfCheck({ asked, found }, questionOfDraft(draft)).state
    assert.equal(state(postgresDraft()), 'passed')
    assert.equal(state(postgresDraft({ 'source/postgres/credentials/password': 'another' })), 'outdated')
    assert.equal(state(postgresDraft({ 'source/postgres/settings/replicationMode': 'snapshot' })), 'outdated')
    assert.equal(state(postgresDraft({ name: 'orders' })), 'passed')
  })

  it('is outdated by an added table only if it failed', () => {
    const asked = questionOfDraft(postgresDraft())
    const withOrders = questionOfDraft(postgresDraft({ [tableMappings]: [orders] }))
    const error = refusalAt('#/source/postgres/tableMappings/0/sourceTable')
    assert.equal(viewOfCheck({ asked, found }, withOrders).state, 'passed')
    assert.equal(viewOfCheck({ asked, error }, asked).error, error)
    assert.deepEqual(viewOfCheck({ asked, error }, withOrders), { state: 'outdated' })
  })

  it('does not apply to a source of another kind', () => {
    const asked = questionOfDraft(postgresDraft())
    assert.deepEqual(viewOfCheck({ asked, found }, questionOfDraft({ ...emptyDraft, kind: 'kafka' })), {
      state: 'none',
    })
    assert.deepEqual(viewOfCheck(undefined, asked), { state: 'none' })
    assert.deepEqual(viewOfCheck('running', asked), { state: 'running' })
  })
})

describe('the check of a pipe', () => {
  const mapping = { ...orders, tableEngine: 'ReplacingMergeTree' } as TableMapping
  const pipe = {
    id: 'a-pipe',
    source: { postgres: { host: 'db.example', tableMappings: [mapping] } },
    destination: { columns: [{ name: 'id', type: 'UInt64' }] },
    fieldMappings: [],
  } as unknown as Pipe

  it('is sent with or without changes', () => {
    assert.deepEqual(questionOfPipe(pipe, undefined).body, { pipeId: 'a-pipe' })
    const patch = { source: { postgres: { host: 'other.example' } } }
    assert.deepEqual(questionOfPipe(pipe, patch).body, { pipeId: 'a-pipe', patch })
  })

  it('shows errors of the changes at the fields of the form', () => {
    const { inForm } = questionOfPipe(pipe, { name: '' })
    assert.equal(inForm(refusalAt('#/patch/name')).errors[0]?.pointer, '#/name')
    assert.equal(inForm(refusalAt('#/source/postgres/host')).errors[0]?.pointer, '#/source/postgres/host')
  })

  it('is outdated by any change of the source; a change of columns outdates only the comparison', () => {
    const asked = questionOfPipe(pipe, undefined)
    const view = (question: typeof asked) => viewOfCheck({ asked, found }, question)
    assert.equal(view(questionOfPipe(pipe, { source: { postgres: { host: 'other.example' } } })).state, 'outdated')
    const moved = { ...pipe, source: { postgres: { ...pipe.source.postgres!, host: 'other.example' } } }
    assert.equal(view(questionOfPipe(moved, undefined)).state, 'outdated')
    const added = { source: { postgres: { tableMappingsToAdd: [orders] } } }
    assert.deepEqual(view(questionOfPipe(pipe, { ...added, name: 'a' })), {
      state: 'passed',
      found,
      isFitOutdated: false,
    })
    assert.equal(view(questionOfPipe(pipe, { destination: { columns: [] } })).isFitOutdated, true)
  })
})

describe('tables that were found', () => {
  it('are mapped to a table of the same name, unless that is used already', () => {
    const once = withTable([unnamed], orders)
    assert.deepEqual(once, [orders])
    assert.deepEqual(withTable(once, { sourceSchemaName: 'archive', sourceTable: 'orders' }), [
      orders,
      { sourceSchemaName: 'archive', sourceTable: 'orders', targetTable: 'archive_orders' },
    ])
  })

  it('are found by part of their name or schema, case-insensitively', () => {
    const customers = { sourceSchemaName: 'crm', sourceTable: 'Customers' }
    assert.deepEqual(tablesNamed([orders, customers], ' CRM.cust '), [customers])
    assert.deepEqual(tablesNamed([orders, customers], ''), [orders, customers])
  })

  it('are those of the pipe, without removed and with added ones', () => {
    const items = { ...orders, sourceTable: 'items' }
    const pipe = { source: { postgres: { tableMappings: [orders] } } } as unknown as Pipe
    const values = {
      'source/postgres/tableMappingsToRemove': [orders],
      'source/postgres/tableMappingsToAdd': [items],
    }
    assert.deepEqual(mappedTables(draftOf(pipe, values)), [items])
    assert.deepEqual(mappedTables(draftOf(pipe)), [orders])
    assert.deepEqual(mappedTables({ ...emptyDraft, values: { [tableMappings]: [items] } }), [items])
  })
})
