import { Group, Text } from '@mantine/core'

/** On narrow screens the name is hidden unless `isAlwaysNamed`. */
export function Logo({ isAlwaysNamed = false }: { isAlwaysNamed?: boolean }) {
  return (
    <Group gap={8} wrap="nowrap">
      <img src="/console/penstock.svg" alt="" width={26} height={26} />
      <Text fw={700} size="md" visibleFrom={isAlwaysNamed ? undefined : 'sm'} component="span">
        Penstock
      </Text>
    </Group>
  )
}
