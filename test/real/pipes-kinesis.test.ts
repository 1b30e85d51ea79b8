// Short runs: R18 of Kinesis, resharding, and rotation of access keys.
import { describePipeDrills } from './pipe-drills.ts'

describePipeDrills('pipes of Kinesis while everything around them dies', ({ deliveries, drill }) => {
  deliveries('Kinesis', { engine: 'old', faults: 5, seed: 8 })
  deliveries('Kinesis', { engine: 'modern', faults: 5, seed: 9 })
  const reshard = '3 splits and merges of a Kinesis stream, each with a fault, lose and double nothing'
  drill(reshard, 'reshard', { engine: 'old', faults: 3, seed: 12 })
  const rotations = '5 rotations of the key of a busy Kinesis pipe lose and double nothing'
  drill(rotations, 'rotation', { number: 0, engine: 'modern', faults: 5, seed: 13 })
})
