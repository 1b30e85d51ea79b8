import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { changeIpAccessList, ipAccessProblems, type NewIpAccess } from './ip-access.ts'
import type { FieldProblem } from './problem.ts'

const entry = (source: string, description = '') => ({ source, description })

describe('ipAccessProblems', () => {
  it('rejects invalid addresses, and repeated sources in any spelling', () => {
    const list = ['::1', 'x', '10.0.0.0/8', '0:0:0:0:0:0:0:1', '10.0.0.0/9', '10.9.9.9/8'].map((source) => ({ source }))
    assert.deepEqual(
      ipAccessProblems(list, 'list').map(({ detail }) => detail),
      [
        'list[1].source must be an IP address or a range such as 10.0.0.0/8, not "x"',
        'list[3].source repeats "0:0:0:0:0:0:0:1"; send each source once',
        'list[5].source repeats "10.9.9.9/8"; send each source once',
      ],
    )
  })
})

describe('changeIpAccessList', () => {
  const present = [entry('::1', 'me'), entry('10.0.0.0/8', 'office')]
  function change(change: { add?: NewIpAccess[]; remove?: { source: string }[] }) {
    const problems: FieldProblem[] = []
    const list = changeIpAccessList(present, change, 'list', problems)
    return { list, problems: problems.map(({ detail }) => detail) }
  }

  it('adds, replaces and removes entries, in any spelling', () => {
    assert.deepEqual(change({}), { list: present, problems: [] })
    assert.deepEqual(change({ add: [{ source: '0::1' }, { source: '192.0.2.7' }] }), {
      list: [entry('0::1'), present[1], entry('192.0.2.7')],
      problems: [],
    })
    assert.deepEqual(change({ remove: [{ source: '10.1.1.1/8' }] }), { list: [present[0]], problems: [] })
  })

  it('rejects removing a source that is not in the list, is removed twice, or is also added', () => {
    assert.deepEqual(change({ remove: [{ source: '::2' }] }).problems, [
      'list.remove[0].source is not in the list: "::2"',
    ])
    assert.deepEqual(change({ remove: [{ source: '::1' }, { source: '0::1' }] }).problems, [
      'list.remove[1].source repeats "0::1"; send each source once',
    ])
    assert.deepEqual(change({ add: [{ source: '0::1' }], remove: [{ source: '::1' }] }).problems, [
      'list.remove[0].source is also in list.add: "::1"',
    ])
  })

  it('counts what remains', () => {
    const add = Array.from({ length: 99 }, (_, index) => ({ source: `192.0.2.${index}` }))
    assert.deepEqual(change({ add }).problems, ['list must have at most 100 entries, not 101'])
    assert.deepEqual(change({ add, remove: [{ source: '::1' }] }).problems, [])
  })
})
