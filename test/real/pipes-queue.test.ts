// R18 of files that a queue tells of, and a key of object storage that is replaced, shortly.
import { describePipeDrills } from './pipe-drills.ts'

describePipeDrills(
  'pipes of files that a queue tells of, while everything around them dies',
  ({ deliveries, drill }) => {
    deliveries('queue', { engine: 'old', troubles: 5, seed: 10 })
    deliveries('queue', { engine: 'modern', troubles: 5, seed: 11 })
    const rotations = '5 rotations of the key of a busy object storage pipe lose and double nothing'
    drill(rotations, 'rotation', { number: 1, engine: 'old', troubles: 5, seed: 14 })
  },
)
