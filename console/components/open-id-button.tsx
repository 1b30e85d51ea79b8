import { Button } from '@mantine/core'

/** Leaves the console for the OpenID provider, which sends the person back to `to`: a path that begins with /console. */
export function OpenIdButton({ to, children }: { to: string; children: string }) {
  return (
    <Button component="a" href={`/console/oidc/start?to=${encodeURIComponent(to)}`} variant="default" fullWidth>
      {children}
    </Button>
  )
}
