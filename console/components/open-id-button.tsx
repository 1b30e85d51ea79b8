import { Button } from '@mantine/core'

/** Redirects to the OpenID provider, which returns the person to `to`: a path that begins with /console. */
export function OpenIdButton({ to, children }: { to: string; children: string }) {
  return (
    <Button component="a" href={`/console/oidc/start?to=${encodeURIComponent(to)}`} variant="default" fullWidth>
      {children}
    </Button>
  )
}
