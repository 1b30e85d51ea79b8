// Short runs: R18 of files announced by a queue, and rotation of an object storage key.
import { describePipeDrills } from './pipe-drills.ts'

describePipeDrills('pipes of files announced by a queue, under random faults', ({ deliveries, drill }) => {
  deliveries('queue', { engine: 'old', faults: 5, seed: 10 })
  deliveries('queue', { engine: 'modern', faults: 5, seed: 11 })
  const rotations = '5 rotations of the key of a busy object storage pipe lose and double nothing'
  drill(rotations, 'rotation', { number: 1, engine: 'old', faults: 5, seed: 14 })
})
