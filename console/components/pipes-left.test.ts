import assert from 'node:assert/strict'
import { it } from 'node:test'
import { pipesLeft } from './pipes-left.ts'

it('a pipe that was deleted is not one of the pipes that are left', () => {
  const about = (id: string) => ({ target: { type: 'pipe', id, serviceId: 's' } as const })
  assert.deepEqual(pipesLeft([about('c'), about('b'), about('a')], [about('c')]), [
    { serviceId: 's', pipeId: 'b' },
    { serviceId: 's', pipeId: 'a' },
  ])
  assert.deepEqual(pipesLeft([about('a')], [about('a')]), [])
})
